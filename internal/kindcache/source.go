package kindcache

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// kindSource caches objects while their kind is served.
type kindSource struct {
	cache   *Cache
	handler handler.EventHandler
	ctx     context.Context // of the queue: it ends after that of a watch
	queue   queue

	syncedOnce sync.Once
	synced     chan struct{} // closed when the handler has been told of all that there was at first

	// gone are objects of definitions that are gone. The handler has not been told of it yet.
	gone []client.Object
}

// Start implements source.Source.
func (s *kindSource) Start(ctx context.Context, queue queue) error {
	s.ctx, s.queue = ctx, queue
	go s.cache.definition.Run(ctx, s)
	return nil
}

// WaitForSync implements source.SyncingSource.
func (s *kindSource) WaitForSync(ctx context.Context) error {
	select {
	case <-s.synced:
	case <-ctx.Done(): // the controller ends
	}
	return nil
}

func (s *kindSource) setSynced() { s.syncedOnce.Do(func() { close(s.synced) }) }

// Served implements definitions.Follower: it watches objects.
func (s *kindSource) Served(ctx context.Context) {
	s.cache.set(false, nil)
	objects, err := s.watch(ctx)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Could not watch objects", "resource", s.cache.resource)
	}
	if objects != nil {
		s.gone = append(s.gone, s.listEnded(objects)...)
	}
}

// Unserved implements definitions.Follower. The API server deletes objects before their definition, but the watch may not have
// brought all of that yet.
func (s *kindSource) Unserved(context.Context, bool, string) {
	s.cache.set(true, nil)
	s.tellGone()
	s.setSynced()
}

func (s *kindSource) tellGone() {
	for _, object := range s.gone {
		s.handler.Delete(s.ctx, event.DeleteEvent{Object: object, DeleteStateUnknown: true}, s.queue)
	}
	s.gone = nil
}

// watch watches until the context ends. It returns a reader of what there was then; nil if not all have been listed.
func (s *kindSource) watch(ctx context.Context) (client.Reader, error) {
	c := s.cache
	objects, err := c.newCache()
	if err != nil {
		return nil, err
	}
	if _, err := objects.GetInformer(ctx, c.object); err != nil { // before the start it does not wait
		return nil, err
	}
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		if err := objects.Start(ctx); err != nil {
			klog.FromContext(ctx).Error(err, "The watch of objects has ended", "resource", c.resource)
		}
	})
	if !objects.WaitForCacheSync(ctx) {
		return nil, nil // the context has ended
	}
	c.set(true, objects)
	s.tellGone()
	// Handlers read from the cache, so they are not called sooner.
	events := source.Kind[client.Object](objects, c.object, s.handler)
	if err := events.Start(ctx, s.queue); err != nil {
		return objects, err
	}
	if err := events.WaitForSync(ctx); err != nil {
		return objects, err
	}
	s.setSynced()
	<-ctx.Done()
	return objects, nil
}

// listEnded lists the objects of a watch that has ended. Its informer still has them, so that this does not wait.
func (s *kindSource) listEnded(ended client.Reader) []client.Object {
	list := s.cache.list.DeepCopyObject().(client.ObjectList)
	if err := ended.List(context.Background(), list); err != nil {
		klog.Background().Error(err, "Could not tell which objects are gone", "resource", s.cache.resource)
		return nil
	}
	var objects []client.Object
	_ = meta.EachListItem(list, func(object runtime.Object) error {
		objects = append(objects, object.(client.Object))
		return nil
	})
	return objects
}

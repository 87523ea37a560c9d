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

// Source returns the source of what happens to the objects, which also fills the cache. A cache has one source. It is in
// sync when reads can be answered, so that a controller whose kind is not installed starts, and has nothing to do.
func (c *Cache) Source(handler handler.EventHandler) source.SyncingSource {
	return &kindSource{cache: c, handler: handler, synced: make(chan struct{})}
}

// kindSource caches objects while their kind is installed.
type kindSource struct {
	cache   *Cache
	handler handler.EventHandler
	queue   queue

	syncedOnce sync.Once
	synced     chan struct{} // closed when the handler has been told of all that there was at first

	watch *watch // nil while the kind is not installed
}

// Start implements source.Source.
func (s *kindSource) Start(ctx context.Context, queue queue) error {
	s.queue = queue
	go func() {
		s.cache.follow(ctx, s)
		if s.watch != nil {
			s.watch.stop()
		}
	}()
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

// Installed begins to watch objects. Those of a definition that has been replaced are gone.
func (s *kindSource) Installed(ctx context.Context) {
	var gone []client.Object
	if s.watch != nil {
		gone = s.watch.stop()
	}
	s.cache.set(false, nil)
	s.watch = s.begin(ctx, gone)
}

// Removed ends the watch. The API server deletes objects before their definition, but the watch may not have brought all of
// that yet.
func (s *kindSource) Removed(ctx context.Context) {
	var gone []client.Object
	if s.watch != nil {
		gone = s.watch.stop()
		s.watch = nil
	}
	s.cache.set(true, nil)
	s.tellGone(ctx, gone)
	s.setSynced()
}

func (s *kindSource) tellGone(ctx context.Context, objects []client.Object) {
	for _, object := range objects {
		s.handler.Delete(ctx, event.DeleteEvent{Object: object, DeleteStateUnknown: true}, s.queue)
	}
}

// watch is that of the objects of one definition.
type watch struct {
	source *kindSource
	cancel context.CancelFunc
	done   chan struct{}
	// objects is nil until all have been listed.
	objects client.Reader
}

// begin starts to watch, and returns at once.
func (s *kindSource) begin(parent context.Context, gone []client.Object) *watch {
	ctx, cancel := context.WithCancel(parent)
	w := &watch{source: s, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		if err := w.run(ctx, parent, gone); err != nil {
			klog.FromContext(ctx).Error(err, "Could not watch objects", "resource", s.cache.resource)
		}
	}()
	return w
}

// run watches until the context ends, which is before that of the queue.
func (w *watch) run(ctx, queueCtx context.Context, gone []client.Object) error {
	c := w.source.cache
	objects, err := c.newCache()
	if err != nil {
		return err
	}
	if _, err := objects.GetInformer(ctx, c.object); err != nil { // before the start it does not wait
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		if err := objects.Start(ctx); err != nil {
			klog.FromContext(ctx).Error(err, "The watch of objects has ended", "resource", c.resource)
		}
	})
	if !objects.WaitForCacheSync(ctx) {
		return nil // the context has ended
	}
	w.objects = objects
	c.set(true, objects)
	w.source.tellGone(queueCtx, gone)
	// Handlers read from the cache, so they are not called sooner.
	events := source.Kind[client.Object](objects, c.object, w.source.handler)
	if err := events.Start(ctx, w.source.queue); err != nil {
		return err
	}
	if err := events.WaitForSync(ctx); err != nil {
		return err
	}
	w.source.setSynced()
	<-ctx.Done()
	return nil
}

// stop ends the watch, and returns the objects that were there at last.
func (w *watch) stop() []client.Object {
	w.cancel()
	<-w.done
	if w.objects == nil {
		return nil
	}
	list := w.source.cache.list.DeepCopyObject().(client.ObjectList)
	// The informer has ended and still has them, so that this does not wait.
	if err := w.objects.List(context.Background(), list); err != nil {
		klog.Background().Error(err, "Could not tell which objects are gone", "resource", w.source.cache.resource)
		return nil
	}
	var objects []client.Object
	_ = meta.EachListItem(list, func(object runtime.Object) error {
		objects = append(objects, object.(client.Object))
		return nil
	})
	return objects
}

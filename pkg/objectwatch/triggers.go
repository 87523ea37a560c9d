package objectwatch

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"example.com/podsequence/pkg/definitions"
	"example.com/podsequence/pkg/reflectors"
)

// AggregatedRole is the ClusterRole that aggregates what the controller may read.
const AggregatedRole = "podsequence-controller-objects"

var (
	definitionResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: definitions.Resource}
	roleResource       = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
)

// startTriggers begins to watch what tells that more may be readable, or otherwise. The lock is held.
func (w *Watcher) startTriggers() {
	if w.stopTriggers != nil {
		return
	}
	ctx, cancel := context.WithCancel(w.ctx)
	w.stopTriggers = cancel
	w.trigger(ctx, definitionResource, "", w.definitionChanged)
	w.trigger(ctx, roleResource, AggregatedRole, w.roleChanged)
}

// trigger calls changed with the name of each object that is not as it was; with an empty name if any may not be.
func (w *Watcher) trigger(ctx context.Context, resource schema.GroupVersionResource, only string, changed func(name string)) {
	selector := ""
	if only != "" {
		selector = fields.OneTermEqualSelector(metav1.ObjectNameField, only).String()
	}
	client := w.metadata.Resource(resource)
	reflector := reflectors.Reflector{
		Name: resource.Resource, Type: &metav1.PartialObjectMetadata{},
		Source: cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				options.FieldSelector = selector
				return client.List(ctx, options)
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
				options.FieldSelector = selector
				return client.Watch(ctx, options)
			},
		}, w.metadata),
		Failed: func(ctx context.Context, err error) {
			watchErrors.Inc()
			klog.FromContext(ctx).Error(err, "Could not watch what may make more objects readable, will retry", "resource", resource.GroupResource())
		},
	}
	w.running.Go(func() { reflector.Run(ctx, triggerStore{changed}) })
}

// definitionChanged makes the watches of the API group of a CustomResourceDefinition look up their kinds again.
func (w *Watcher) definitionChanged(name string) {
	_, group, isOne := strings.Cut(name, ".")
	if isOne {
		w.kinds.forget(group)
	} else {
		w.kinds.forgetAll()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, watch := range w.watches {
		if !isOne || p.kind.Group == group {
			signal(watch.again)
		}
	}
}

// roleChanged makes the watches try again that were forbidden.
func (w *Watcher) roleChanged(string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, watch := range w.watches {
		if watch.fault == forbidden {
			signal(watch.again)
		}
	}
}

// triggerStore calls changed, and keeps nothing.
type triggerStore struct{ changed func(name string) }

var (
	_ cache.ReflectorStore    = triggerStore{}
	_ cache.TransformingStore = triggerStore{}
)

// Add implements cache.ReflectorStore.
func (s triggerStore) Add(obj any) error { return s.Update(obj) }

// Delete implements cache.ReflectorStore.
func (s triggerStore) Delete(obj any) error { return s.Update(obj) }

// Resync implements cache.ReflectorStore.
func (s triggerStore) Resync() error { return nil }

// Update implements cache.ReflectorStore.
func (s triggerStore) Update(obj any) error {
	object, err := meta.Accessor(obj)
	if err == nil {
		s.changed(object.GetName())
	}
	return err
}

// Replace implements cache.ReflectorStore.
func (s triggerStore) Replace([]any, string) error {
	s.changed("")
	return nil
}

// Transformer drops all but the name from what is listed.
func (s triggerStore) Transformer() cache.TransformFunc {
	return func(listed any) (any, error) {
		if object, ok := listed.(*metav1.PartialObjectMetadata); ok {
			object.Annotations, object.ManagedFields, object.Labels, object.OwnerReferences = nil, nil, nil, nil
		}
		return listed, nil
	}
}

package objectwatch

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/controllers/podsequence/objects"
)

// store judges what a reflector brings.
type store struct {
	watch   *watch
	client  dynamic.ResourceInterface
	wasLive bool
}

// A reflector calls its store from one goroutine, in the order of the watch.
var (
	_ cache.ReflectorStore    = &store{}
	_ cache.TransformingStore = &store{}
)

// source lists and watches the objects, and notes that the watch has begun. The API server ends the watches of a kind when its definition
// changes, so that each beginning is a time to look whether the kind is still served as it was.
func (s *store) source() cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			if options.ResourceVersion == "0" {
				options.ResourceVersion = "" // what is in a cache may have been long ago
			}
			return s.client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
			// If the API server does not say, or no longer serves the kind, the watch finds out by itself.
			if served, err := discover(ctx, s.watch.watcher.api, s.watch.kind); err == nil && served != nil && *served != s.watch.served {
				return nil, errServedOtherwise
			}
			w, err := s.client.Watch(ctx, options)
			if err == nil {
				s.update(func() sets.Set[types.NamespacedName] { s.watch.isWatched = true; return nil })
			}
			return w, err
		},
	}, s.watch.watcher.objects)
}

// Transformer trims objects before a streamed list is complete.
func (s *store) Transformer() cache.TransformFunc {
	return func(listed any) (any, error) { return trim(listed) }
}

// trim drops from an object what nobody judges.
func trim(obj any) (*unstructured.Unstructured, error) {
	object, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the API server sent a %T, want an object", obj)
	}
	fields := []string{"apiVersion", "kind", "metadata", "status"}
	if status.GetLegacyConditionsFn(object) != nil { // its rules compare the status with the spec
		fields = append(fields, "spec")
	}
	kept := map[string]any{}
	for _, field := range fields {
		if value, found := object.Object[field]; found {
			kept[field] = value
		}
	}
	for _, large := range []string{"template", "jobTemplate", "versions"} { // the last has the schemas of a definition
		unstructured.RemoveNestedField(kept, "spec", large)
	}
	unstructured.RemoveNestedField(kept, "metadata", "managedFields")
	unstructured.RemoveNestedField(kept, "metadata", "annotations")
	return &unstructured.Unstructured{Object: kept}, nil
}

// update changes what is known, in one step, and tells the sequences that the change returns. If the objects can be read for the first
// time, or again, that is all of them.
func (s *store) update(change func() sets.Set[types.NamespacedName]) {
	w := s.watch
	w.watcher.mu.Lock()
	before := w.isLive()
	concerned := change()
	switch {
	case !w.isLive():
		concerned = nil // nobody is shown it yet
	case !before:
		s.wasLive, w.fault, w.trouble = true, noFault, ""
		concerned = w.waiting()
	}
	w.watcher.mu.Unlock()
	w.watcher.tell(concerned)
}

// Add implements cache.ReflectorStore.
func (s *store) Add(obj any) error { return s.Update(obj) }

// Resync implements cache.ReflectorStore.
func (s *store) Resync() error { return nil }

// Update implements cache.ReflectorStore.
func (s *store) Update(obj any) error {
	object, err := trim(obj)
	if err != nil {
		return err
	}
	s.update(func() sets.Set[types.NamespacedName] {
		s.watch.found[object.GetName()] = object
		return s.watch.judge(object.GetName())
	})
	return nil
}

// Delete implements cache.ReflectorStore.
func (s *store) Delete(obj any) error {
	object, err := trim(obj)
	if err != nil {
		return err
	}
	s.update(func() sets.Set[types.NamespacedName] {
		delete(s.watch.found, object.GetName())
		return s.watch.judge(object.GetName())
	})
	return nil
}

// Replace implements cache.ReflectorStore.
func (s *store) Replace(list []any, _ string) error {
	found := make(map[string]*unstructured.Unstructured, len(list))
	for _, obj := range list {
		object, err := trim(obj)
		if err != nil {
			return err
		}
		found[object.GetName()] = object
	}
	s.update(func() sets.Set[types.NamespacedName] {
		s.watch.found = found
		concerned := sets.New[types.NamespacedName]()
		for name := range s.watch.wanted {
			concerned = concerned.Union(s.watch.judge(name))
		}
		return concerned
	})
	return nil
}

func observe(found *unstructured.Unstructured, verdict objects.Verdict) Observation {
	observed := Observation{
		State: v1alpha1.ObjectWaiting, UID: found.GetUID(), Generation: found.GetGeneration(), Since: verdict.Since, Message: verdict.Message,
	}
	if verdict.Satisfied {
		observed.State = v1alpha1.ObjectSatisfied
	}
	return observed
}

package objectwatch

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/objects"
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

// source lists and watches the objects, and notes that the watch has begun.
func (s *store) source() cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			if options.ResourceVersion == "0" {
				options.ResourceVersion = "" // what is in a cache may have been long ago
			}
			return s.client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
			w, err := s.client.Watch(ctx, options)
			if err == nil {
				s.update(func() sets.Set[types.NamespacedName] { s.watch.isWatched = true; return nil })
			}
			return w, err
		},
	}, s.watch.watcher.objects)
}

// Transformer drops from listed objects what nobody judges, so that a list takes less memory until it is complete.
func (s *store) Transformer() cache.TransformFunc { return trim }

func trim(listed any) (any, error) {
	object, ok := listed.(*unstructured.Unstructured)
	if !ok {
		return listed, nil
	}
	kept := map[string]any{}
	for _, field := range []string{"apiVersion", "kind", "metadata", "status"} {
		if value, found := object.Object[field]; found {
			kept[field] = value
		}
	}
	if status.GetLegacyConditionsFn(object) != nil { // its rules compare the status with the spec
		kept["spec"] = object.Object["spec"]
	}
	trimmed := &unstructured.Unstructured{Object: kept}
	unstructured.RemoveNestedField(kept, "metadata", "managedFields")
	unstructured.RemoveNestedField(kept, "metadata", "annotations")
	return trimmed, nil
}

// update changes what is known, in one step, and tells the sequences that the change returns. If the objects can be read for the first
// time, or again, that is all of them.
func (s *store) update(change func() sets.Set[types.NamespacedName]) {
	w := s.watch
	w.watcher.mu.Lock()
	concerned := sets.New[types.NamespacedName]()
	w.transition(func() {
		before := w.isLive()
		concerned = change()
		if !w.isLive() {
			concerned = nil // nobody is shown it yet
		} else if !before {
			s.wasLive, w.fault, w.trouble = true, noFault, ""
			concerned = sets.New[types.NamespacedName]()
			for _, o := range w.objects {
				for _, j := range o.untils {
					concerned = concerned.Union(j.sequences)
				}
			}
		}
	})
	w.watcher.mu.Unlock()
	w.watcher.tell(concerned)
}

// Add implements cache.ReflectorStore.
func (s *store) Add(obj any) error { return s.Update(obj) }

// Resync implements cache.ReflectorStore.
func (s *store) Resync() error { return nil }

// Update implements cache.ReflectorStore.
func (s *store) Update(obj any) error { return s.bring(obj, false) }

// Delete implements cache.ReflectorStore.
func (s *store) Delete(obj any) error { return s.bring(obj, true) }

// bring judges what the watch brings of one object.
func (s *store) bring(obj any, isGone bool) error {
	object, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("watch brought a %T, want an object", obj)
	}
	s.update(func() sets.Set[types.NamespacedName] {
		wanted, version := s.watch.objects[object.GetName()], object.GetResourceVersion()
		if wanted == nil || !isNewer(version, wanted.asked) && !(isGone && wanted.wasJudgedBy(object.GetUID())) {
			return nil
		}
		wanted.version, wanted.asked = version, ""
		if isGone {
			object = nil
		}
		return s.judge(wanted, object)
	})
	return nil
}

// Replace implements cache.ReflectorStore.
func (s *store) Replace(list []any, version string) error {
	listed := make(map[string]*unstructured.Unstructured, len(list))
	for _, obj := range list {
		object, ok := obj.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("list has a %T, want an object", obj)
		}
		listed[object.GetName()] = object
	}
	s.update(func() sets.Set[types.NamespacedName] {
		concerned := sets.New[types.NamespacedName]()
		for name, wanted := range s.watch.objects {
			wanted.version, wanted.asked = version, ""
			concerned = concerned.Union(s.judge(wanted, listed[name]))
		}
		s.watch.isListed = true
		return concerned
	})
	return nil
}

// askUnseen lists, one by one, objects that sequences name after the list was complete: nothing was kept of them. If that does not
// do, all are listed again.
func (s *store) askUnseen(ctx context.Context, cancel context.CancelFunc) {
	for {
		select {
		case <-s.watch.asks:
		case <-ctx.Done():
			return
		}
		for name, ok := s.nextUnseen(); ok; name, ok = s.nextUnseen() {
			if isJudged, err := s.ask(ctx, name); err != nil || !isJudged {
				if err != nil {
					s.watch.failed(ctx, err)
				}
				cancel()
				return
			}
		}
	}
}

func (s *store) nextUnseen() (string, bool) {
	s.watch.watcher.mu.Lock()
	defer s.watch.watcher.mu.Unlock()
	return s.watch.unseen.PopAny()
}

// ask judges one object. What the watch brings after that and is older is left out. It reports whether the object is judged: not if nothing
// tells whether the watch has brought something newer, which does not say what a sequence asks that came later.
func (s *store) ask(ctx context.Context, name string) (isJudged bool, err error) {
	list, err := s.client.List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()})
	if err != nil {
		return false, fmt.Errorf("list one object: %w", err)
	}
	isJudged = true
	s.update(func() sets.Set[types.NamespacedName] {
		wanted, version := s.watch.objects[name], list.GetResourceVersion()
		if wanted == nil {
			return nil
		}
		if wanted.version != "" && isNewer(wanted.version, version) {
			isJudged = wanted.isJudged() // the watch was faster
			return nil
		}
		wanted.version, wanted.asked = version, version
		var object *unstructured.Unstructured
		for i := range list.Items {
			if list.Items[i].GetName() == name {
				object = &list.Items[i]
			}
		}
		return s.judge(wanted, object)
	})
	return isJudged, nil
}

// isNewer reports whether a version is newer than another. Versions that cannot be compared, of aggregated API servers, say, are.
func isNewer(version, than string) bool {
	if than == "" {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err != nil || order > 0
}

// judge notes how an object is, nil if there is none, and returns the sequences for which that is new. The lock is held.
func (s *store) judge(wanted *object, found *unstructured.Unstructured) sets.Set[types.NamespacedName] {
	concerned := sets.New[types.NamespacedName]()
	now := s.watch.watcher.clock.Now()
	for until, j := range wanted.untils {
		observed := Observation{State: v1alpha1.ObjectNotFound}
		if found != nil {
			observed = observe(found, objects.Judge(found, until, s.watch.served.hasStatus, now))
		}
		if j.become(observed, now) {
			concerned = concerned.Union(j.sequences)
		}
	}
	return concerned
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

// become notes an observation, and reports whether it is another than before. A condition that claims to be True since before the object
// was last seen otherwise does not say since when: some controllers leave lastTransitionTime as it is, and a condition that is True for an
// older generation counts again without a transition.
func (j *judgement) become(observed Observation, now time.Time) bool {
	before := j.Observation
	if observed.State != v1alpha1.ObjectSatisfied {
		j.otherwise = now
	} else if observed.Since.Before(j.otherwise.Truncate(time.Second)) {
		observed.Since = time.Time{}
	}
	switch {
	case observed.State != v1alpha1.ObjectSatisfied:
	case j.known && before.State == v1alpha1.ObjectSatisfied && before.UID == observed.UID:
		observed.Seen, observed.Turned = before.Seen, before.Turned
	default:
		observed.Seen, observed.Turned = now, j.known
	}
	isNew := !j.known || before != observed
	j.Observation, j.known = observed, true
	return isNew
}

package podgroupwatch

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"example.com/podsequence/pkg/podgroups"
)

// A reflector calls its store from one goroutine, in the order of the watch.
var (
	_ cache.ReflectorStore = &markerStore{}
	_ cache.ReflectorStore = &groupStore{}
)

// run watches the kind's marker until the context ends.
func (k *kind) run(ctx context.Context) {
	markers := &markerStore{kind: k, ctx: ctx}
	keep(ctx, k.markerResource, k.marker, k.markerType, markers)
	markers.stop()
}

// keep keeps the store up to date until the context ends, however often the watch breaks.
func keep(ctx context.Context, resource string, source cache.ListerWatcher, object any, store cache.ReflectorStore) {
	reflector := cache.NewReflectorWithOptions(source, object, store, cache.ReflectorOptions{Name: "podsequence/" + resource})
	backoff := wait.Backoff{Duration: 200 * time.Millisecond, Cap: 30 * time.Second, Steps: 10, Factor: 2, Jitter: 0.2}
	_ = backoff.DelayWithReset(clock.RealClock{}, 2*time.Minute).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil && ctx.Err() == nil {
			watchErrors.WithLabelValues(resource).Inc()
			klog.FromContext(ctx).Error(err, "Could not list and watch, will retry", "resource", resource)
		}
		return false, nil
	})
}

// markerStore watches PodGroups of a kind while it is served.
type markerStore struct {
	kind *kind
	ctx  context.Context // the parent of a watch that begins with an event

	served types.UID // of the marker whose kind is being watched
	cancel context.CancelFunc
	done   chan struct{}
}

func (s *markerStore) Add(marker any) error { return s.Update(marker) }
func (s *markerStore) Resync() error        { return nil }

func (s *markerStore) Update(marker any) error {
	object, err := meta.Accessor(marker)
	if err != nil {
		return fmt.Errorf("read what says whether there are %s: %w", s.kind.name, err)
	}
	if object.GetUID() == s.served || !s.kind.isServed(s.ctx, marker) {
		return nil
	}
	s.stop()
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	s.served, s.cancel, s.done = object.GetUID(), cancel, done
	go func() {
		defer close(done)
		keep(ctx, string(s.kind.name), s.kind.groups, s.kind.groupType, &groupStore{kind: s.kind})
	}()
	return nil
}

func (s *markerStore) Delete(any) error { return s.Replace(nil, "") }

func (s *markerStore) Replace(list []any, _ string) error {
	if len(list) == 0 {
		s.stop()
		s.kind.setListed()
		return nil
	}
	err := s.Update(list[0])
	if s.served == "" {
		s.kind.setListed()
	}
	return err
}

// stop ends the watch, and waits until it has ended, before it forgets what it brought.
func (s *markerStore) stop() {
	if s.cancel == nil {
		return
	}
	s.cancel()
	<-s.done
	s.served, s.cancel, s.done = "", nil, nil
	s.kind.replace(map[types.NamespacedName]int32{})
}

// groupStore enters PodGroups into what is known of their kind.
type groupStore struct{ kind *kind }

func (s *groupStore) Add(group any) error { return s.Update(group) }
func (s *groupStore) Resync() error       { return nil }

func (s *groupStore) Update(group any) error {
	key, minimum, err := s.kind.read(group)
	if err != nil {
		return err
	}
	s.kind.set(key, minimum)
	return nil
}

func (s *groupStore) Delete(group any) error {
	key, _, err := s.kind.read(group)
	if err != nil {
		return err
	}
	s.kind.remove(key)
	return nil
}

func (s *groupStore) Replace(list []any, _ string) error {
	minimums := make(map[types.NamespacedName]int32, len(list))
	for _, group := range list {
		key, minimum, err := s.kind.read(group)
		if err != nil {
			return err
		}
		minimums[key] = minimum
	}
	s.kind.replace(minimums)
	s.kind.setListed()
	return nil
}

func (k *kind) read(group any) (types.NamespacedName, int32, error) {
	object, err := meta.Accessor(group)
	if err != nil {
		return types.NamespacedName{}, 0, fmt.Errorf("read one of %s: %w", k.name, err)
	}
	minimum, err := k.minimumOf(group)
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}, minimum, err
}

func (k *kind) set(key types.NamespacedName, minimum int32) {
	k.lock.Lock()
	before, known := k.minimumFor[key]
	k.minimumFor[key] = minimum
	k.lock.Unlock()
	if !known || before != minimum {
		k.changed(podgroups.Reference{Kind: k.name, NamespacedName: key})
	}
}

func (k *kind) remove(key types.NamespacedName) {
	k.lock.Lock()
	delete(k.minimumFor, key)
	k.lock.Unlock()
	k.changed(podgroups.Reference{Kind: k.name, NamespacedName: key})
}

// replace is one step for those who ask: a relist must not show PodGroups of different times together.
func (k *kind) replace(minimums map[types.NamespacedName]int32) {
	k.lock.Lock()
	before := k.minimumFor
	k.minimumFor = minimums
	var differ []types.NamespacedName
	for key, minimum := range minimums {
		if was, known := before[key]; !known || was != minimum {
			differ = append(differ, key)
		}
	}
	for key := range before {
		if _, still := minimums[key]; !still {
			differ = append(differ, key)
		}
	}
	k.lock.Unlock()
	for _, key := range differ {
		k.changed(podgroups.Reference{Kind: k.name, NamespacedName: key})
	}
}

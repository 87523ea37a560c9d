package feed

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"example.com/podsequence/pkg/definitions"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// A reflector calls its store from one goroutine, in the order of the watch.
var _ cache.ReflectorStore = &sequenceStore{}

// sequenceKind is PodSequences or ClusterPodSequences, and how they are watched.
type sequenceKind struct {
	cluster    bool
	resource   schema.GroupVersionResource
	definition *definitions.Watcher
	source     cache.ListerWatcher
	watch      *position
	listed     bool // all are known, or there is no such kind; guarded by Feed.deliver
}

func (k *sequenceKind) read(stored map[string]any) spec.Stored {
	if k.cluster {
		return spec.ReadCluster(stored)
	}
	return spec.Read(stored)
}

// sequenceStore hands the sequences of one kind to the engine. The first complete lists are the last things that the engine must know.
type sequenceStore struct {
	feed   *Feed
	kind   *sequenceKind
	logger klog.Logger
	// unreadable are the generations of those that cannot be read wholly, which are reported once each.
	unreadable map[types.NamespacedName]int64
}

func (s *sequenceStore) Add(obj any) error { return s.Update(obj) }
func (s *sequenceStore) Resync() error     { return nil }

func (s *sequenceStore) Update(obj any) error {
	stored, err := as[*unstructured.Unstructured](obj)
	if err != nil {
		return err
	}
	ps, version := s.read(stored), stored.GetResourceVersion()
	s.feed.applyAt(s.kind.watch, version, func() sequence.Changes {
		return s.feed.engine.ApplySequences([]spec.Stored{ps})
	})
	return nil
}

func (s *sequenceStore) Delete(obj any) error {
	stored, err := as[*unstructured.Unstructured](obj)
	if err != nil {
		return err
	}
	key := keyOf(stored)
	delete(s.unreadable, key)
	s.feed.applyAt(s.kind.watch, stored.GetResourceVersion(), func() sequence.Changes {
		return s.feed.engine.RemoveSequence(key, stored.GetResourceVersion())
	})
	return nil
}

func (s *sequenceStore) Replace(list []any, resourceVersion string) error {
	objects, err := allAs[*unstructured.Unstructured](list)
	if err != nil {
		return err
	}
	before := s.unreadable
	s.unreadable = map[types.NamespacedName]int64{}
	sequences := make([]spec.Stored, len(objects))
	for i, stored := range objects {
		if generation, reported := before[keyOf(stored)]; reported {
			s.unreadable[keyOf(stored)] = generation
		}
		sequences[i] = s.read(stored)
	}
	s.feed.applyAt(s.kind.watch, resourceVersion, func() sequence.Changes {
		return s.feed.replaceSequences(s.kind, sequences, resourceVersion)
	})
	s.feed.open()
	return nil
}

// read reads one object, and tells the operator of the cluster if it cannot be read wholly.
func (s *sequenceStore) read(stored *unstructured.Unstructured) spec.Stored {
	trimSequence(stored)
	ps, key := s.kind.read(stored.Object), keyOf(stored)
	if len(ps.Unreadable) == 0 {
		delete(s.unreadable, key)
		return ps
	}
	if s.unreadable[key] != stored.GetGeneration() {
		for _, part := range ps.Unreadable {
			s.logger.Error(nil, "Could not read a part of a stored sequence; the group with this problem and all later ones do not count as ready", "sequence", report.NameOf(key), "problem", part.Message)
		}
	}
	s.unreadable[key] = stored.GetGeneration()
	return ps
}

// replaceSequences enters all sequences of a kind that there are at a version.
func (f *Feed) replaceSequences(kind *sequenceKind, all []spec.Stored, version string) sequence.Changes {
	kind.listed = true
	if kind.cluster {
		return f.engine.ReplaceClusterSequences(all, version)
	}
	return f.engine.ReplaceSequences(all, version)
}

// Recorded enters what the API server returned when passes of a sequence were recorded, so that nobody waits for the watch to bring it.
func (f *Feed) Recorded(stored *unstructured.Unstructured) {
	kind := f.sequences[0]
	if stored.GetNamespace() == "" {
		kind = f.sequences[1]
	}
	trimSequence(stored)
	ps := kind.read(stored.Object)
	f.apply(func() sequence.Changes { return f.engine.Recorded(ps) })
}

func keyOf(stored *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: stored.GetNamespace(), Name: stored.GetName()}
}

// sequenceFollower watches the sequences of a kind while it is served.
type sequenceFollower struct {
	feed *Feed
	kind *sequenceKind
}

// Served implements definitions.Follower.
func (s sequenceFollower) Served(ctx context.Context) {
	s.noteInstalled(true)
	incomplete := "the list of " + s.kind.resource.Resource + " is not complete"
	s.feed.suspend(s.kind, incomplete)
	store := &sequenceStore{feed: s.feed, kind: s.kind, logger: klog.FromContext(ctx), unreadable: map[types.NamespacedName]int64{}}
	s.feed.reflect(ctx, s.kind.resource.Resource, s.kind.source, &unstructured.Unstructured{}, store)
}

// Unserved implements definitions.Follower. That a kind is not there means that there are no sequences of it.
func (s sequenceFollower) Unserved(_ context.Context, isDefined bool, version string) {
	s.noteInstalled(isDefined)
	s.feed.apply(func() sequence.Changes { return s.feed.replaceSequences(s.kind, nil, version) })
	s.feed.open()
}

// noteInstalled tells the engine whether the kind PodSequence is installed: pods wait for those of that kind that do not exist.
func (s sequenceFollower) noteInstalled(installed bool) {
	if !s.kind.cluster {
		s.feed.apply(func() sequence.Changes { return s.feed.engine.KindInstalled(installed) })
	}
}

func as[T any](obj any) (T, error) {
	typed, ok := obj.(T)
	if !ok {
		return typed, fmt.Errorf("watch brought a %T, want a %T", obj, typed)
	}
	return typed, nil
}

func allAs[T any](list []any) ([]T, error) {
	typed := make([]T, len(list))
	for i, obj := range list {
		var err error
		if typed[i], err = as[T](obj); err != nil {
			return nil, err
		}
	}
	return typed, nil
}

package feed

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/definitions"
	"example.com/podsequence/pkg/sequence"
)

// A reflector calls its store from one goroutine, in the order of the watch.
var (
	_ cache.ReflectorStore = &sequenceStore{}

	_ cache.ReflectorBookmarkStore = &sequenceStore{}
	_ cache.ReflectorStore         = &definitionStore{}
)

// sequenceStore hands PodSequences to the engine. The first complete list, and what there is in the namespaces of which these
// speak, are the last things that the engine must know.
type sequenceStore struct {
	feed   *Feed
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
	ps := s.read(stored)
	s.applyAt(stored.GetResourceVersion(), func() sequence.Changes {
		if s.feed.interest.holdBack(ps, s.feed.clock.Now()) {
			// It may have spoken of another namespace before.
			return s.feed.engine.RemoveSequence(keyOf(stored), stored.GetResourceVersion())
		}
		return s.feed.engine.ApplySequence(ps.PodSequence, ps.Unreadable...)
	})
	return nil
}

func (s *sequenceStore) Delete(obj any) error {
	stored, err := as[*unstructured.Unstructured](obj)
	if err != nil {
		return err
	}
	key := keyOf(stored)
	s.forget(key)
	s.applyAt(stored.GetResourceVersion(), func() sequence.Changes {
		s.feed.interest.remove(key, s.feed.clock.Now())
		return s.feed.engine.RemoveSequence(key, stored.GetResourceVersion())
	})
	s.feed.sequenced.removed()
	return nil
}

// Bookmark notes how far the watch has come.
func (s *sequenceStore) Bookmark(resourceVersion string) error {
	s.feed.sequenced.bookmark(resourceVersion)
	s.feed.known.brought()
	return nil
}

func (s *sequenceStore) applyAt(version string, enter func() sequence.Changes) {
	s.feed.applyAt(s.feed.sequenced, version, enter)
	s.feed.known.brought()
}

func (s *sequenceStore) Replace(list []any, resourceVersion string) error {
	objects, err := allAs[*unstructured.Unstructured](list)
	if err != nil {
		return err
	}
	before := s.unreadable
	s.unreadable = map[types.NamespacedName]int64{}
	sequences := make([]sequence.Stored, len(objects))
	for i, stored := range objects {
		if generation, reported := before[keyOf(stored)]; reported {
			s.unreadable[keyOf(stored)] = generation
		}
		sequences[i] = s.read(stored)
	}
	unreadableSequences.Set(float64(len(s.unreadable)))
	s.feed.applyAt(s.feed.sequenced, resourceVersion, func() sequence.Changes {
		return s.feed.replaceSequences(sequences, resourceVersion)
	})
	s.feed.sequenced.removed()
	s.feed.open()
	s.feed.known.brought()
	return nil
}

// read reads one object, and tells the operator of the cluster if it cannot be read wholly.
func (s *sequenceStore) read(stored *unstructured.Unstructured) sequence.Stored {
	trimSequence(stored)
	ps, key := sequence.Read(stored.Object), keyOf(stored)
	if len(ps.Unreadable) == 0 {
		s.forget(key)
		return ps
	}
	if s.unreadable[key] != stored.GetGeneration() {
		for _, part := range ps.Unreadable {
			s.logger.Error(nil, "Cannot read a stored PodSequence wholly; no group from there on counts as ready", "podSequence", key, "problem", part.Message)
		}
	}
	s.unreadable[key] = stored.GetGeneration()
	unreadableSequences.Set(float64(len(s.unreadable)))
	return ps
}

func (s *sequenceStore) forget(key types.NamespacedName) {
	delete(s.unreadable, key)
	unreadableSequences.Set(float64(len(s.unreadable)))
}

func keyOf(stored *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: stored.GetNamespace(), Name: stored.GetName()}
}

var (
	// definitionName is the name of the PodSequence kind's CustomResourceDefinition.
	definitionName = v1alpha1.PodSequenceResource.GroupResource().String()
	definitionType = &apiextensionsv1.CustomResourceDefinition{}
)

// definitionStore watches PodSequences while their kind is served. That it is not there means that there are none; to
// find out by listing them would take polling to notice when it comes.
type definitionStore struct {
	feed   *Feed
	ctx    context.Context // of the feed: it is the parent of a watch that begins with an event
	status definitions.Status

	served types.UID // of the definition whose objects are being watched
	cancel context.CancelFunc
	done   chan struct{}
}

func (s *definitionStore) Add(obj any) error { return s.Update(obj) }
func (s *definitionStore) Resync() error     { return nil }

func (s *definitionStore) Update(obj any) error {
	definition, err := as[*apiextensionsv1.CustomResourceDefinition](obj)
	if err != nil {
		return err
	}
	if definition.UID == s.served || !established(definition) {
		return nil
	}
	s.stop()
	s.served = definition.UID
	s.watch()
	return nil
}

func (s *definitionStore) Delete(obj any) error {
	definition, err := as[*apiextensionsv1.CustomResourceDefinition](obj)
	if err != nil {
		return err
	}
	return s.Replace(nil, definition.ResourceVersion)
}

func (s *definitionStore) Replace(list []any, resourceVersion string) error {
	for _, obj := range list {
		if err := s.Update(obj); err != nil {
			return err
		}
	}
	if len(list) == 0 || s.served == "" {
		s.stop()
		s.status.Set(klog.FromContext(s.ctx), false)
		s.feed.known.setAbsent(true)
		s.feed.apply(func() sequence.Changes { return s.feed.replaceSequences(nil, resourceVersion) })
		s.feed.open()
	}
	return nil
}

const sequencesIncomplete = "the list of PodSequences is not complete"

func (s *definitionStore) watch() {
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	s.cancel, s.done = cancel, done
	s.status.Set(klog.FromContext(s.ctx), true)
	s.feed.known.setAbsent(false)
	s.feed.suspend(sequencesIncomplete)
	go func() {
		defer close(done)
		s.feed.compareVersions(ctx)
		s.feed.setState(sequencesIncomplete)
		store := &sequenceStore{feed: s.feed, logger: klog.FromContext(ctx), unreadable: map[types.NamespacedName]int64{}}
		s.feed.reflect(ctx, v1alpha1.PodSequenceResource.Resource, s.feed.sequences, &unstructured.Unstructured{}, store)
	}()
}

// stop ends the watch of the objects and waits until it has ended.
func (s *definitionStore) stop() {
	if s.cancel != nil {
		s.cancel()
		<-s.done
	}
	s.served, s.cancel, s.done = "", nil, nil
}

func established(definition *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range definition.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
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

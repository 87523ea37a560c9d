package feed

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"example.com/podsequence/pkg/sequence"
)

// objectStore hands objects of one type to the engine.
type objectStore[T metav1.Object] struct {
	feed          *Feed
	position      *position
	apply, remove func(T) sequence.Changes
	replace       func(list []T, version string) sequence.Changes

	applyListed func(T) sequence.Changes // of a namespace that is listed by itself

	trim   func(T) T // of what is listed; nil if it is taken as it is
	intern func(T)   // of what is watched; nil if it is taken as it is
	// decode returns the object of an event. It is called with deliver held.
	decode func(obj any) (T, error)

	scope *scope[T] // nil if all namespaces are of interest

	once  sync.Once
	first chan struct{} // closed after the first complete list
}

func newObjectStore[T metav1.Object](f *Feed, apply, remove func(T) sequence.Changes, replace func([]T, string) sequence.Changes) *objectStore[T] {
	return &objectStore[T]{
		feed: f, position: &position{}, apply: apply, applyListed: apply, remove: remove, replace: replace, decode: as[T], first: make(chan struct{}),
	}
}

func (s *objectStore[T]) Add(obj any) error       { return s.Update(obj) }
func (s *objectStore[T]) Resync() error           { return nil }
func (s *objectStore[T]) Update(obj any) error    { return s.enter(obj, false) }
func (s *objectStore[T]) listed() <-chan struct{} { return s.first }
func (s *objectStore[T]) watch() *position        { return s.position }

func (s *objectStore[T]) Delete(obj any) error { return s.enter(obj, true) }

// Transformer returns the function with which a reflector trims what it lists; nil if the store trims nothing.
func (s *objectStore[T]) Transformer() cache.TransformFunc {
	if s.trim == nil {
		return nil
	}
	return func(obj any) (any, error) {
		object, err := as[T](obj)
		if err != nil {
			return nil, err
		}
		return s.trim(object), nil
	}
}

// enter enters one event, unless it is of no interest. That is found out in the same step: a namespace that
// becomes of interest later is listed not older than the event.
func (s *objectStore[T]) enter(obj any, deleted bool) error {
	s.feed.deliver.Lock()
	defer s.feed.deliver.Unlock()
	object, err := s.decode(obj)
	if err != nil {
		return err
	}
	version := object.GetResourceVersion()
	enter := s.applierFor(object, deleted)
	if enter == nil {
		s.position.advance(version)
		return nil
	}
	if s.intern != nil {
		s.intern(object)
	}
	s.feed.stepAt(s.position, version, func() sequence.Changes { return enter(object) })
	return nil
}

// applierFor returns what enters an event into the engine; nil if nothing does.
func (s *objectStore[T]) applierFor(object T, deleted bool) func(T) sequence.Changes {
	switch {
	case s.scope != nil:
		return s.scope.applierFor(object, deleted)
	case deleted:
		return s.remove
	}
	return s.apply
}

func (s *objectStore[T]) Replace(list []any, resourceVersion string) error {
	objects, err := allAs[T](list)
	if err != nil {
		return err
	}
	s.feed.deliver.Lock()
	if s.scope != nil {
		objects = s.scope.relisted(objects)
	}
	s.feed.stepAt(s.position, resourceVersion, func() sequence.Changes { return s.replace(objects, resourceVersion) })
	s.feed.deliver.Unlock()
	s.once.Do(func() { close(s.first) })
	return nil
}

package feed

import (
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/pkg/sequence"
)

// objectStore hands objects of one type to the engine. A reflector calls it from one goroutine, in the order of the watch.
type objectStore[T metav1.Object] struct {
	feed          *Feed
	position      *position // nil if not needed
	apply, remove func(T) sequence.Changes
	replace       func(list []T, version string) sequence.Changes
	replaced      func() // called after each list; nil if not needed

	once  sync.Once
	first chan struct{} // closed after the first complete list
}

func newObjectStore[T metav1.Object](f *Feed, apply, remove func(T) sequence.Changes, replace func([]T, string) sequence.Changes) *objectStore[T] {
	return &objectStore[T]{
		feed: f, apply: apply, remove: remove, replace: replace, first: make(chan struct{}),
	}
}

func (s *objectStore[T]) Add(obj any) error       { return s.Update(obj) }
func (s *objectStore[T]) Resync() error           { return nil }
func (s *objectStore[T]) Update(obj any) error    { return s.enter(obj, s.apply) }
func (s *objectStore[T]) Delete(obj any) error    { return s.enter(obj, s.remove) }
func (s *objectStore[T]) listed() <-chan struct{} { return s.first }

func (s *objectStore[T]) enter(obj any, event func(T) sequence.Changes) error {
	object, err := as[T](obj)
	if err != nil {
		return err
	}
	s.step(object.GetResourceVersion(), func() sequence.Changes { return event(object) })
	return nil
}

func (s *objectStore[T]) Replace(list []any, resourceVersion string) error {
	objects := make([]T, len(list))
	for i, obj := range list {
		var err error
		if objects[i], err = as[T](obj); err != nil {
			return err
		}
	}
	s.step(resourceVersion, func() sequence.Changes { return s.replace(objects, resourceVersion) })
	s.feed.setFailure(nil)
	s.once.Do(func() { close(s.first) })
	if s.replaced != nil {
		s.replaced()
	}
	return nil
}

// step enters an event of a version, and notes how far the watch has come.
func (s *objectStore[T]) step(version string, event func() sequence.Changes) {
	s.feed.apply(func() sequence.Changes {
		defer s.position.advance(version)
		return event()
	})
}

func as[T any](obj any) (T, error) {
	typed, ok := obj.(T)
	if !ok {
		return typed, fmt.Errorf("watch brought a %T, want a %T", obj, typed)
	}
	return typed, nil
}

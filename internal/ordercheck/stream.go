package ordercheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// retryDelay is the pause before asking an API server again that did not answer.
const retryDelay = 250 * time.Millisecond

// watchSpan ends each watch, for the next one to resume. Before the end the server says how far it has come, so that the
// gap after a crash of the server spans few revisions, also for a resource in which nothing happens.
const watchSpan = 10 * time.Second

// resource is one kind of object to record.
type resource struct {
	name   string // plural, for people
	client dynamic.ResourceInterface
	read   func(*unstructured.Unstructured) (facts, error)
}

// stream keeps one record up to date. client-go's RetryWatcher is not used: it asks again for ever when told that its
// resource version has expired, and gives nobody the chance to fill the gap.
type stream struct {
	*record
	recorder *recorder
}

// run watches until the context ends or a change may have been missed. A broken watch resumes where it was.
func (s *stream) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.watch(ctx)
		if expired(err) {
			err = s.backfill(ctx)
		}
		var lost *lostError
		if errors.As(err, &lost) {
			s.recorder.breakOff(s.record, lost)
			return
		}
		if err != nil {
			pause(ctx, retryDelay)
		}
	}
}

// lostError ends a record: what comes next cannot be known.
type lostError struct {
	err error
}

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// watch records changes until the server ends the watch, which is no error.
func (s *stream) watch(ctx context.Context) error {
	watcher, err := s.resource.client.Watch(ctx, metav1.ListOptions{
		ResourceVersion:     s.position().String(),
		AllowWatchBookmarks: true,
		TimeoutSeconds:      new(int64(watchSpan / time.Second)),
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", s.resource.name, err)
	}
	defer watcher.Stop()
	seen := false
	for e := range watcher.ResultChan() {
		if err := s.take(e); err != nil {
			return err
		}
		seen = true
	}
	if !seen {
		return errors.New("watch ended before it began")
	}
	return nil
}

// take records one event of a watch.
func (s *stream) take(e watch.Event) error {
	if e.Type == watch.Error {
		return fmt.Errorf("watch %s: %w", s.resource.name, apierrors.FromObject(e.Object))
	}
	object, ok := e.Object.(*unstructured.Unstructured)
	if !ok {
		return &lostError{fmt.Errorf("watch %s: got a %T", s.resource.name, e.Object)}
	}
	switch e.Type {
	case watch.Bookmark:
		at, err := parseRevision(object.GetResourceVersion())
		if err != nil {
			return &lostError{fmt.Errorf("watch %s: %w", s.resource.name, err)}
		}
		s.recorder.reach(s.record, at)
	case watch.Added, watch.Modified, watch.Deleted:
		// An object that cannot be read is lost, whatever comes after it.
		if err := s.recorder.write(s.record, object, e.Type == watch.Deleted); err != nil {
			return &lostError{err}
		}
	default:
		return &lostError{fmt.Errorf("watch %s: got an event of type %q", s.resource.name, e.Type)}
	}
	return nil
}

func (s *stream) position() revision {
	s.recorder.mu.Lock()
	defer s.recorder.mu.Unlock()
	return s.upTo
}

func (s *stream) brokenOff() error {
	s.recorder.mu.Lock()
	defer s.recorder.mu.Unlock()
	return s.gap
}

// expired says whether the server has forgotten the changes asked for.
func expired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// pause returns early when the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

package feed

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

// Nobody places a pod while it carries a gate, so whoever lifts the gate can look first: a sequence that was created before the pod, and
// that the watch has not brought yet, holds it as well. All pods that are about to lose their gates share these looks.

// listTimeout is how long a list may take before it is tried again.
const listTimeout = 10 * time.Second

// freshLists are lists that are not older than whoever asks for them.
type freshLists struct {
	mu sync.Mutex
	// next are the lists that have not begun, and busy tells of which there is one under way, by what is listed.
	next map[string]*freshList
	busy map[string]bool
}

// freshList is one list, for all who asked for it before it began.
type freshList struct {
	done   chan struct{} // closed when the rest is there
	newest string        // the newest version of any object in it
	err    error
}

func newFreshLists() *freshLists {
	return &freshLists{next: map[string]*freshList{}, busy: map[string]bool{}}
}

// newest returns the newest version of what there was when it was called.
func (l *freshLists) newest(ctx context.Context, what string, list func(context.Context) (newest string, err error)) (string, error) {
	l.mu.Lock()
	mine := l.next[what]
	if mine == nil {
		mine = &freshList{done: make(chan struct{})}
		l.next[what] = mine
		if !l.busy[what] {
			l.busy[what] = true
			go l.run(what, list)
		}
	}
	l.mu.Unlock()
	select {
	case <-mine.done:
		return mine.newest, mine.err
	case <-ctx.Done():
		return "", fmt.Errorf("wait for a list of %s: %w", what, context.Cause(ctx))
	}
}

// run lists until nobody has asked since the last list began.
func (l *freshLists) run(what string, list func(context.Context) (string, error)) {
	for {
		l.mu.Lock()
		now := l.next[what]
		delete(l.next, what)
		if now == nil {
			delete(l.busy, what)
		}
		l.mu.Unlock()
		if now == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
		now.newest, now.err = list(ctx)
		cancel()
		close(now.done)
	}
}

// newestSequence returns the newest version of any sequence of a kind; empty if there is none, or no such kind.
func (f *Feed) newestSequence(ctx context.Context, kind *sequenceKind) (string, error) {
	version, err := f.newestOf(ctx, kind.resource, metav1.ListOptions{})
	if !apierrors.IsNotFound(err) {
		return version, err
	}
	// That the watch of definitions has brought none says nothing: it may be behind.
	isServed, err := kind.definition.Ask(ctx)
	if err == nil && isServed {
		err = fmt.Errorf("%s are not served, though their kind is installed", kind.resource.Resource)
	}
	return "", err
}

// pageSize bounds what is in memory of a list of which only versions are looked at.
const pageSize = 1000

// newestOf lists metadata without a resource version, so that the list has everything that was written before. It returns the newest
// version of any object.
func newestOf(client metadata.Interface) func(context.Context, schema.GroupVersionResource, metav1.ListOptions) (newest string, err error) {
	return func(ctx context.Context, resource schema.GroupVersionResource, options metav1.ListOptions) (newest string, err error) {
		for options.Limit = pageSize; ; {
			page, err := client.Resource(resource).List(ctx, options)
			if err != nil {
				return "", err
			}
			for i := range page.Items {
				newest = latest(newest, page.Items[i].ResourceVersion)
			}
			if options.Continue = page.Continue; options.Continue == "" {
				return newest, nil
			}
		}
	}
}

// CatchUp returns once the engine knows every PodSequence and ClusterPodSequence that there was when it was called, and what a Namespace
// said then.
func (f *Feed) CatchUp(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	for _, kind := range f.sequences {
		newest, err := f.lists.newest(ctx, kind.resource.Resource, func(ctx context.Context) (string, error) { return f.newestSequence(ctx, kind) })
		if err != nil {
			return fmt.Errorf("list %s: %w", kind.resource.Resource, err)
		}
		if err := kind.watch.await(ctx, newest); err != nil {
			return err
		}
	}
	newest, err := f.lists.newest(ctx, "namespace "+namespace, func(ctx context.Context) (string, error) {
		named := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, namespace).String()}
		return f.newestOf(ctx, f.namespaces.resource, named)
	})
	if err != nil {
		return fmt.Errorf("list namespace %s: %w", namespace, err)
	}
	return f.namespaces.store.watch().await(ctx, newest)
}

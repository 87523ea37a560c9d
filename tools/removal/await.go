package removal

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// progressInterval is how often a wait says what it waits for.
	progressInterval = 10 * time.Second
	// mostNamed is how many objects a line names.
	mostNamed = 5
)

// awaitGone returns when no object of the kind is left, or, with a name, when that one is gone. It says what it waits for,
// and gives up after the time-out, with an error that says what is in the way. The caller's blocked adds to what the
// metadata of what is left say.
func (r *Remover) awaitGone(
	ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey, blocked func(context.Context) string,
) error {
	if left, _ := r.remaining(ctx, kind, key, nil); left == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	began := time.Now()
	var store cache.Store
	gone := func() bool { return len(store.ListKeys()) == 0 }

	done := make(chan error, 1)
	go func() {
		_, err := watchtools.UntilWithSync(ctx, r.listWatch(kind, key), &metav1.PartialObjectMetadata{},
			func(s cache.Store) (bool, error) {
				store = s
				return gone(), nil
			},
			func(watch.Event) (bool, error) { return gone(), nil })
		done <- err
	}()
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			if err == nil {
				return nil
			}
			return r.notGone(kind, key, time.Since(began), blocked, err)
		case <-ticker.C:
			left, text := r.remaining(ctx, kind, key, blocked)
			if left == 0 {
				return nil // the kind may be gone, and with it the watch
			}
			r.say("waiting   for %s", text)
		}
	}
}

// listWatch lists and watches the metadata of what is waited for.
func (r *Remover) listWatch(kind schema.GroupVersionKind, key client.ObjectKey) *cache.ListWatch {
	list := func() *metav1.PartialObjectMetadataList {
		l := &metav1.PartialObjectMetadataList{}
		l.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		return l
	}
	options := func(raw metav1.ListOptions) *client.ListOptions {
		if key.Name != "" {
			raw.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name).String()
		}
		return &client.ListOptions{Namespace: key.Namespace, Raw: &raw}
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, raw metav1.ListOptions) (runtime.Object, error) {
			l := list()
			err := r.client.List(ctx, l, options(raw))
			if isAbsent(err) {
				return list(), nil // the kind is gone, too
			}
			return l, err
		},
		WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
			return r.client.Watch(ctx, list(), options(raw))
		},
	}
}

// remaining counts and names what is left, and says what keeps it.
func (r *Remover) remaining(
	ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey, blocked func(context.Context) string,
) (left int, text string) {
	var names []string
	err := r.eachMetadata(ctx, kind, func(object *metav1.PartialObjectMetadata) error {
		if key.Name != "" && client.ObjectKeyFromObject(object) != key {
			return nil
		}
		if left++; left <= mostNamed {
			name := nameOf(object)
			if len(object.Finalizers) > 0 {
				name += fmt.Sprintf(" (finalizers: %s)", strings.Join(object.Finalizers, ", "))
			}
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return -1, fmt.Sprintf("%s: %v", kind.Kind, err)
	}
	text = kind.Kind + " " + strings.Join(names, ", ")
	if left > mostNamed {
		text += fmt.Sprintf(" and %d more", left-mostNamed)
	}
	if blocked != nil {
		if why := blocked(ctx); why != "" {
			text += ": " + why
		}
	}
	return left, text
}

func (r *Remover) notGone(
	kind schema.GroupVersionKind, key client.ObjectKey, after time.Duration, blocked func(context.Context) string, cause error,
) error {
	// The time for waiting is over, and yet this must be asked.
	ctx, cancel := context.WithTimeout(context.Background(), progressInterval)
	defer cancel()
	_, text := r.remaining(ctx, kind, key, blocked)
	return fmt.Errorf("still there after %s: %s: remove what blocks it, or wait longer (--timeout), and run this again (%w)",
		after.Round(time.Second), text, cause)
}

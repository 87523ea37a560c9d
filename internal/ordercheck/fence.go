package ordercheck

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// fence is what a consistent list found: a record is complete up to it once it has seen all of that.
type fence struct {
	at      revision
	objects map[types.UID]revision
}

// raise takes the list, patiently: the API server may be restarting.
func (s *stream) raise(ctx context.Context) (fence, error) {
	list, err := listPatiently(ctx, s.resource)
	if err != nil {
		return fence{}, err
	}
	return newFence(list)
}

func newFence(list *unstructured.UnstructuredList) (fence, error) {
	at, err := parseRevision(list.GetResourceVersion())
	if err != nil {
		return fence{}, fmt.Errorf("raise a fence: %w", err)
	}
	f := fence{at: at, objects: map[types.UID]revision{}}
	for i := range list.Items {
		f.objects[list.Items[i].GetUID()], err = parseRevision(list.Items[i].GetResourceVersion())
		if err != nil {
			return fence{}, fmt.Errorf("raise a fence: %w", err)
		}
	}
	return f, nil
}

// await returns once the record has caught up with the fence. It fails for a record that was broken off even if it
// agrees with the fence: something may have come and gone.
func (s *stream) await(ctx context.Context, f fence) error {
	for {
		s.recorder.mu.Lock()
		behind, gap, changed := f.behind(s.record), s.gap, s.recorder.changed
		s.recorder.mu.Unlock()
		if gap != nil {
			return gap
		}
		if behind == "" {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("await the watch of %s, which is behind: %s", s.resource.name, behind)
		}
	}
}

// behind says what the record has not seen yet, and nothing once it has seen everything.
func (f fence) behind(rec *record) string {
	if rec.upTo >= f.at {
		return ""
	}
	seen := 0
	for uid, object := range rec.objects {
		listed, ok := f.objects[uid]
		switch {
		case !ok:
			return fmt.Sprintf("it has not seen the end of %s", object.facts.key())
		case object.revision < listed:
			return fmt.Sprintf("it has not seen %s at resource version %s", object.facts.key(), listed)
		}
		seen++
	}
	if missing := len(f.objects) - seen; missing > 0 {
		return fmt.Sprintf("it has not seen %s", count(missing, "object"))
	}
	return ""
}

// listPatiently lists until it succeeds or the context ends. Nothing is taken for an answer but an answer: neither
// a server that is starting nor a kind that is not installed yet.
func listPatiently(ctx context.Context, res resource) (*unstructured.UnstructuredList, error) {
	for {
		list, err := res.client.List(ctx, metav1.ListOptions{})
		if err == nil {
			return list, nil
		}
		pause(ctx, retryDelay)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("list %s: %w", res.name, err)
		}
	}
}

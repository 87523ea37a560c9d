package podsequence

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/pkg/sequence"
)

// Holds says what PodSequences hold.
type Holds struct {
	engine *sequence.Engine
	why    func() string
	known  <-chan struct{}
	// catchUp is that of a feed.Feed.
	catchUp func(ctx context.Context, namespace string) error
}

// Known is closed when all PodSequences and pods are known for the first time.
func (h *Holds) Known() <-chan struct{} { return h.known }

// WouldHold says what would hold pods that are created together and do not exist yet, and whether that is known: all PodSequences and
// pods must be. When it changes, Options.HoldsChanged is called.
func (h *Holds) WouldHold(pods ...*corev1.Pod) (hold sequence.Hold, known bool) {
	if h.why() != "" {
		return sequence.Hold{}, false
	}
	return h.engine.WouldHold(pods...), true
}

// Places returns the groups that sequences have for a pod, see sequence.Engine.
func (h *Holds) Places(pod *corev1.Pod) []sequence.Place { return h.engine.Places(pod) }

// CatchUp returns once every PodSequence is known that there was when it was called, and the consent and the labels of the pod's namespace
// as they were then. The pod need not exist.
func (h *Holds) CatchUp(ctx context.Context, pod *corev1.Pod) error {
	if err := h.catchUp(ctx, pod.Namespace); err != nil {
		return fmt.Errorf("find out which PodSequences there are: %w", err)
	}
	return nil
}

// targets passes on in which namespaces what is held may have changed.
type targets struct {
	engine  targetSource
	changed func(namespace string)
	// foreignTargets maps the sequences whose pods live in other namespaces than their own to those namespaces. They are needed when a
	// sequence is gone or names other namespaces.
	foreignTargets map[types.NamespacedName][]string
}

// targetSource knows where the pods of a sequence live. A sequence.Engine is one.
type targetSource interface {
	TargetNamespaces(key types.NamespacedName) (namespaces []string, ok bool)
}

func newTargets(engine targetSource, changed func(namespace string)) *targets {
	return &targets{engine: engine, changed: changed, foreignTargets: map[types.NamespacedName][]string{}}
}

// tell passes on the namespaces of these sequences, those included where their pods lived before, and others.
func (t *targets) tell(sequences sets.Set[types.NamespacedName], others ...string) {
	namespaces := sets.New(others...)
	for key := range sequences {
		namespaces.Insert(t.foreignTargets[key]...)
		delete(t.foreignTargets, key)
		now, ok := t.engine.TargetNamespaces(key)
		switch {
		case ok:
			namespaces.Insert(now...)
			if !slices.Equal(now, []string{key.Namespace}) {
				t.foreignTargets[key] = now
			}
		case key.Namespace != "":
			namespaces.Insert(key.Namespace)
		}
	}
	for namespace := range namespaces {
		t.changed(namespace)
	}
}

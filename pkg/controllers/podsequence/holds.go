package podsequence

import (
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
}

// Known is closed when all PodSequences and pods are known for the first time.
func (h *Holds) Known() <-chan struct{} { return h.known }

// WouldHold says what would hold a pod that does not exist yet. Until all PodSequences and pods are known, nothing
// would. When they are, Options.HoldsChanged is called.
func (h *Holds) WouldHold(pod *corev1.Pod) sequence.Hold {
	if h.why() != "" {
		return sequence.Hold{}
	}
	return h.engine.WouldHold(pod)
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

// tell passes on the namespaces of these sequences, those included where their pods lived before.
func (t *targets) tell(sequences sets.Set[types.NamespacedName]) {
	namespaces := sets.New[string]()
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

package podsequence

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/pkg/sequence"
)

// Holds says what PodSequences hold.
type Holds struct {
	engine *sequence.Engine
	why    func() string
}

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
	// elsewhere has the sequences whose pods live in another namespace than they, and that namespace: for when they are
	// gone, or name another.
	elsewhere map[types.NamespacedName]string
}

// targetSource knows where the pods of a sequence live. A sequence.Engine is one.
type targetSource interface {
	TargetNamespace(key types.NamespacedName) (namespace string, ok bool)
}

func newTargets(engine targetSource, changed func(namespace string)) *targets {
	return &targets{engine: engine, changed: changed, elsewhere: map[types.NamespacedName]string{}}
}

// tell passes on the namespaces of these sequences, those included where their pods lived before.
func (t *targets) tell(sequences sets.Set[types.NamespacedName]) {
	namespaces := sets.New[string]()
	for key := range sequences {
		if before, ok := t.elsewhere[key]; ok {
			namespaces.Insert(before)
			delete(t.elsewhere, key)
		}
		namespace, ok := t.engine.TargetNamespace(key)
		switch {
		case !ok:
			namespaces.Insert(key.Namespace)
		case namespace != key.Namespace:
			t.elsewhere[key] = namespace
			namespaces.Insert(namespace)
		default:
			namespaces.Insert(namespace)
		}
	}
	for namespace := range namespaces {
		t.changed(namespace)
	}
}

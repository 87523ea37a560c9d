package sequence

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/spec"
)

// Whoever feeds the engine need not tell it of pods and workloads in namespaces of which no PodSequence speaks. What follows is
// for that: to find out which namespaces those are, and to begin and to end with one of them.

// TargetNamespace is the namespace of which a PodSequence speaks.
func TargetNamespace(ps *v1alpha1.PodSequence) string {
	if ps.Spec.Namespace == "" {
		return ps.Namespace
	}
	return ps.Spec.Namespace
}

// MayConsent reports whether an annotation allows PodSequences of a namespace of this name, if it has the right UID.
func MayConsent(list, namespace string) bool { return spec.NamesNamespace(list, namespace) }

// KnownIn returns the objects of a kind that the engine keeps in a namespace, in any order.
func (e *Engine) KnownIn(kind WorkloadKind, namespace string) (known []types.UID) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if kind == KindPod {
		for _, p := range e.namespaces.pods(namespace) {
			known = append(known, p.UID)
		}
		return known
	}
	for w := range e.workloads.byNamespace[namespace] {
		if w.Kind == kind {
			known = append(known, w.UID)
		}
	}
	return known
}

// KnowsUnbound reports whether the engine knows the pod, and knows it without a node. It waits for no event.
func (e *Engine) KnowsUnbound(object *corev1.Pod) bool {
	seen := e.published.pods.load(types.NamespacedName{Namespace: object.Namespace, Name: object.Name})
	return seen != nil && seen.UID == object.UID
}

package placement

import (
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"example.com/podsequence/pkg/sequence/inventory"
)

// Requirement is what pods ask of a node, ready for many questions.
type Requirement struct {
	affinity    nodeaffinity.RequiredNodeAffinity
	tolerations []corev1.Toleration
}

// NewRequirement prepares what a pod asks of a node.
func NewRequirement(w *inventory.NodeRequirement) Requirement {
	return Requirement{
		affinity: nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{
			Spec: corev1.PodSpec{NodeSelector: w.NodeSelector, Affinity: w.Affinity},
		}),
		tolerations: w.Tolerations,
	}
}

// Suits reports whether pods with this requirement may run on the node, as far as its labels, its taints and its being
// cordoned say. A node that such a pod cannot use need not be waited for.
func (r *Requirement) Suits(n *inventory.Node) bool {
	if fits, err := r.affinity.Match(n.Object); err != nil || !fits {
		return false
	}
	taints := n.Object.Spec.Taints
	if n.Object.Spec.Unschedulable {
		taints = append(slices.Clip(taints), corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	_, untolerated := v1helper.FindMatchingUntoleratedTaint(logr.Discard(), taints, r.tolerations, func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}, true)
	return !untolerated
}

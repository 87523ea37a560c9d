package readiness

import (
	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/kubernetes/pkg/controller/daemon/util"
	"k8s.io/kubernetes/pkg/features"

	"example.com/podsequence/pkg/sequence/inventory"
)

// A DaemonSet wants two things, by scope:
//
//   - in the cluster, as any workload (demand.go): as many of its own pods as Kubernetes counts as desired, of its newest revision, unless
//     it replaces pods only when they are deleted. The view of a DaemonSet has both numbers, see inventory.WorkloadKinds;
//   - on each node where it is due, which is what follows: a pod that is there, whatever its revision. The pod is a member of the group
//     like others: OnNode says what it gives to it.

// DueRule is what a DaemonSet asks of the nodes where it should have a pod, ready for many nodes.
type DueRule struct {
	node        string // the only one, if its template names one
	affinity    nodeaffinity.RequiredNodeAffinity
	tolerations []corev1.Toleration
}

// NewDueRule prepares the rule of a DaemonSet. To prepare it costs many times what it costs to ask it about a node.
func NewDueRule(w *inventory.Workload) *DueRule {
	template := w.Object.(*appsv1.DaemonSet).Spec.Template.Spec // a copy, which gets tolerations
	util.AddOrUpdateDaemonPodTolerations(&template)
	return &DueRule{
		node: template.NodeName, affinity: nodeaffinity.NewRequiredNodeAffinity(template.NodeSelector, template.Affinity),
		tolerations: template.Tolerations,
	}
}

// IsDueOn reports whether the DaemonSet should have a pod on the node, as NodeShouldRunDaemonPod of Kubernetes does, which prepares the
// rule anew for each node.
func (r *DueRule) IsDueOn(n *inventory.Node) bool {
	if r.node != "" && r.node != n.Name {
		return false
	}
	if fits, _ := r.affinity.Match(n.Object); !fits {
		return false
	}
	taints := n.Object.Spec.Taints
	if len(taints) == 0 {
		return true
	}
	_, untolerated := v1helper.FindMatchingUntoleratedTaint(logr.Discard(), taints, r.tolerations, func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoExecute || t.Effect == corev1.TaintEffectNoSchedule
	}, utilfeature.DefaultFeatureGate.Enabled(features.TaintTolerationComparisonOperators))
	return !untolerated
}

// IsMissing reports whether a node lacks the pod of a DaemonSet that should have one there. pods counts those that it has
// there, whatever their labels: while it has one it makes no other.
func IsMissing(due bool, pods int) bool { return due && pods == 0 }

package readiness

import (
	"iter"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"example.com/podsequence/pkg/sequence/inventory"
)

// A DaemonSet wants two things, by scope:
//
//   - in the cluster, as any workload (demand.go): as many of its own pods as Kubernetes counts as desired, of its newest revision, unless
//     it replaces pods only when they are deleted. The view of a DaemonSet has both numbers, see inventory.WorkloadKinds;
//     While that number is 0 because no node is ready for it, it expects pods all the same, see WaitsForNode;
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
	template := &w.Object.(*appsv1.DaemonSet).Spec.Template.Spec
	tolerations := slices.Concat(template.Tolerations, daemonTolerations)
	if template.HostNetwork {
		tolerations = append(tolerations, corev1.Toleration{
			Key: corev1.TaintNodeNetworkUnavailable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
		})
	}
	return &DueRule{
		node: template.NodeName, affinity: nodeaffinity.NewRequiredNodeAffinity(template.NodeSelector, template.Affinity), tolerations: tolerations,
	}
}

// daemonTolerations are those that its controller gives to each pod of a DaemonSet, see AddOrUpdateDaemonPodTolerations in
// k8s.io/kubernetes/pkg/controller/daemon/util of 1.37.1.
var daemonTolerations = []corev1.Toleration{
	{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeDiskPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeMemoryPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodePIDPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
}

// IsDueOn reports whether the DaemonSet should have a pod on the node, as NodeShouldRunDaemonPod of Kubernetes does, which prepares the
// rule anew for each node.
func (r *DueRule) IsDueOn(n *inventory.Node) bool {
	return r.selects(n) && r.tolerates(n.Object.Spec.Taints)
}

// selects reports whether the template asks for a node like this one, whatever its taints.
func (r *DueRule) selects(n *inventory.Node) bool {
	if r.node != "" && r.node != n.Name {
		return false
	}
	fits, _ := r.affinity.Match(n.Object)
	return fits
}

// tolerates reports whether none of the taints keeps the pods away.
func (r *DueRule) tolerates(taints []corev1.Taint) bool {
	if len(taints) == 0 {
		return true
	}
	_, untolerated := v1helper.FindMatchingUntoleratedTaint(logr.Discard(), taints, r.tolerations, func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoExecute || t.Effect == corev1.TaintEffectNoSchedule
	}, true) // comparing operators: where their feature is off, the API server accepts none
	return !untolerated
}

// Prospect is what a node promises a DaemonSet that expects no pod now.
type Prospect uint8

const (
	// NotSelected is a node that the template does not ask for, or one of the control plane that keeps the pods away: the nodes for them
	// may be about to join a new cluster.
	NotSelected Prospect = iota
	// KeptAway is a node that the template asks for, and whose taints keep the pods away permanently.
	KeptAway
	// WouldRun is a node where the DaemonSet runs a pod as soon as the node is ready.
	WouldRun
)

// ProspectOf returns what the node promises the DaemonSet. n is nil for a node that does not exist.
func (r *DueRule) ProspectOf(n *inventory.Node) Prospect {
	switch {
	case n == nil || !r.selects(n):
		return NotSelected
	case r.tolerates(withoutTransient(n.Object.Spec.Taints)):
		return WouldRun
	case !r.tolerates(ofControlPlane(n.Object.Spec.Taints)):
		return NotSelected
	}
	return KeptAway
}

func ofControlPlane(taints []corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(t corev1.Taint) bool { return t.Key != controlPlaneTaint })
}

// controlPlaneTaint is on the nodes of the control plane, see kubeadm.
const controlPlaneTaint = "node-role.kubernetes.io/control-plane"

// transientTaints begin the keys of taints that go away when a node is ready: those of node conditions, of cloud providers, and the start-up
// taints of autoscalers.
var transientTaints = []string{
	"node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "startup-taint.cluster-autoscaler.kubernetes.io/", "karpenter.sh/unregistered",
}

func withoutTransient(taints []corev1.Taint) []corev1.Taint {
	isTransient := func(t corev1.Taint) bool {
		return slices.ContainsFunc(transientTaints, func(prefix string) bool { return strings.HasPrefix(t.Key, prefix) })
	}
	if !slices.ContainsFunc(taints, isTransient) {
		return taints
	}
	return slices.DeleteFunc(slices.Clone(taints), isTransient)
}

// WaitsForNode reports whether a DaemonSet expects no pod only because no node is ready for it. Kubernetes does not want its pods on nodes
// that are not ready, so in a new or a dark cluster it wants none. There it runs a pod once a node is ready, or once one comes that it
// selects. If taints keep it from all nodes that it selects, it really expects nothing.
func WaitsForNode(w *inventory.Workload, prospects iter.Seq[Prospect]) bool {
	if w.Kind != inventory.KindDaemonSet || w.Expected > 0 {
		return false
	}
	keptAway := false
	for p := range prospects {
		if p == WouldRun {
			return true
		}
		keptAway = keptAway || p == KeptAway
	}
	return !keptAway
}

// IsMissing reports whether a node lacks the pod of a DaemonSet that should have one there. pods counts those that it has
// there, whatever their labels: while it has one it makes no other.
func IsMissing(due bool, pods int) bool { return due && pods == 0 }

package ordercheck

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"
)

// A DaemonSet counts only nodes that are ready. While none is, it wants no pods, and means nothing by that: it will want them as soon as a
// node comes or is ready. It means it if taints that stay keep it from every node that it selects, other than those of the control plane.

// passingTaints begin the keys of taints that a node has while it starts or is not ready.
var passingTaints = []string{
	"node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "startup-taint.cluster-autoscaler.kubernetes.io/", "karpenter.sh/unregistered",
}

func isPassing(taint corev1.Taint) bool {
	for _, prefix := range passingTaints {
		if strings.HasPrefix(taint.Key, prefix) {
			return true
		}
	}
	return false
}

// hasNoNodeFor reports whether a DaemonSet wants no pods only because no node is ready for it.
func hasNoNodeFor(f *workloadFacts, nodes map[string]*nodeFacts) bool {
	set, ok := f.object.(*appsv1.DaemonSet)
	if !ok || !f.isIdle() {
		return false
	}
	wantsWith := func(node *corev1.Node, stays func(corev1.Taint) bool) bool {
		other := &corev1.Node{ObjectMeta: node.ObjectMeta}
		for _, taint := range node.Spec.Taints {
			if stays(taint) {
				other.Spec.Taints = append(other.Spec.Taints, taint)
			}
		}
		wants, _ := daemon.NodeShouldRunDaemonPod(klog.Logger{}, other, set)
		return wants
	}
	selected := false
	for _, n := range nodes {
		if wantsWith(n.node, func(t corev1.Taint) bool { return !isPassing(t) }) {
			return true
		}
		// Nodes that are only for the control plane are none for it.
		selected = selected || wantsWith(n.node, func(t corev1.Taint) bool { return t.Key == "node-role.kubernetes.io/control-plane" })
	}
	return !selected
}

package readiness

import (
	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/kubernetes/pkg/controller/daemon"

	"example.com/podsequence/pkg/sequence/inventory"
)

// A DaemonSet wants two things, by scope:
//
//   - in the cluster, as any workload (demand.go): as many of its own pods as Kubernetes counts as desired, of its newest revision, unless
//     it replaces pods only when they are deleted. The view of a DaemonSet has both numbers, see inventory.WorkloadKinds;
//   - on each node where it is due, which is what follows: a pod that is there, whatever its revision. The pod is a member of the group
//     like others: OnNode says what it gives to it.

// IsDueOn reports whether the DaemonSet should have a pod on the node, by Kubernetes' own rule.
func IsDueOn(w *inventory.Workload, n *inventory.Node) bool {
	should, _ := daemon.NodeShouldRunDaemonPod(logr.Discard(), n.Object, w.Object.(*appsv1.DaemonSet))
	return should
}

// IsMissing reports whether a node lacks the pod of a DaemonSet that should have one there. pods counts those that it has
// there, whatever their labels: while it has one it makes no other.
func IsMissing(due bool, pods int) bool { return due && pods == 0 }

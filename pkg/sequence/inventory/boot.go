package inventory

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// After a power failure the API has each pod as it was before, also Ready, until the kubelet of the node's next boot has reported on it:
// a second or two after the kubelet has reported the boot itself, for it does that first. No object says when a node booted. But whoever
// watches nodes sees nodeInfo.bootID change, and in the same update when the kubelet wrote it, by the clock that it also writes into
// the conditions of pods.

// bootSettles is how long after a boot a kubelet has reported on all its pods. What is Ready then is Ready in this boot.
const bootSettles = time.Minute

// FollowBoot notes whether the node booted since an earlier version of it. Who has not seen the earlier version does not know.
func (n *Node) FollowBoot(before *Node) {
	if n.Object.UID != before.Object.UID {
		return // it is another node, see readiness.IsDone
	}
	booted := n.BootID != "" && before.BootID != "" && n.BootID != before.BootID
	switch {
	case n.BootID == "":
		n.BootID, n.BootedAt = before.BootID, before.BootedAt
	case booted:
		// The clock may be behind after a boot, until somebody sets it.
		n.BootedAt = latest(n.heartbeat, latest(before.heartbeat, before.BootedAt))
	case !n.hasSettled(before.BootedAt):
		n.BootedAt = before.BootedAt
	}
	n.followConditions(before, booted)
}

// Renew takes over from a version that is the Same what changes with each heartbeat.
func (n *Node) Renew(newer *Node) {
	n.ResourceVersion, n.heartbeat, n.readySince = newer.ResourceVersion, newer.heartbeat, newer.readySince
	n.conditions = newer.conditions
}

// hasSettled reports whether the kubelet says that it has been ready for a while since it reported a boot. That ends what the
// boot means for pods: it could be in error, because clocks may be set after a boot, and because a static pod may be ready before the
// kubelet reaches the API server. A clock that was set back by that long also ends it: kubelets report a boot and its pods within seconds,
// and the heartbeat that shows the new time comes later.
func (n *Node) hasSettled(bootedAt time.Time) bool {
	return !n.readySince.IsZero() && n.heartbeat.Sub(n.readySince).Abs() >= bootSettles && n.heartbeat.Sub(bootedAt).Abs() >= bootSettles
}

// viewBoot reads what the kubelet reports of itself.
func (n *Node) viewBoot(object *corev1.Node) {
	n.BootID = object.Status.NodeInfo.BootID
	for i := range object.Status.Conditions {
		if c := &object.Status.Conditions[i]; c.Type == corev1.NodeReady {
			if n.heartbeat = c.LastHeartbeatTime.Time; c.Status == corev1.ConditionTrue {
				n.readySince = c.LastTransitionTime.Time
			}
		}
	}
}

// FollowNode notes when the pod's node was created and when it last booted, see Reached. node is nil while it is not known; exists reports
// whether there may be such a node.
func (p *Pod) FollowNode(node *Node, exists bool) {
	p.nodeGone = p.Bound() && !exists
	if p.nodeBootedAt, p.nodeCreatedAt = 0, 0; node != nil {
		p.nodeBootedAt, p.nodeCreatedAt = TimestampOf(node.BootedAt), TimestampOf(node.Object.CreationTimestamp.Time)
	}
}

package inventory

import (
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeCondition is a condition of a node, as far as a group may ask for it.
type NodeCondition struct {
	Type   string
	Status metav1.ConditionStatus
	// Since is since when the condition has this status: its last transition, but not before the node was created. It is zero if nobody says.
	Since Timestamp
	// BeforeBoot reports that nobody has reported the condition since the present boot of the node. It does not count then.
	BeforeBoot bool

	transition, heartbeat Timestamp // as they are written
}

// viewConditions reads the conditions of a node. Their types are the same on all nodes, so each is kept once.
func viewConditions(node *corev1.Node) []NodeCondition {
	all := make([]NodeCondition, 0, len(node.Status.Conditions))
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		condition := NodeCondition{
			Type: unique.Make(string(c.Type)).Value(), Status: unique.Make(metav1.ConditionStatus(c.Status)).Value(),
			transition: TimestampOf(c.LastTransitionTime.Time), heartbeat: TimestampOf(c.LastHeartbeatTime.Time),
		}
		if condition.transition != 0 {
			condition.Since = max(condition.transition, TimestampOf(node.CreationTimestamp.Time))
		}
		all = append(all, condition)
	}
	return all
}

// Condition returns the condition of a type; nil if the node has none.
func (n *Node) Condition(of string) *NodeCondition {
	i := slices.IndexFunc(n.conditions, func(c NodeCondition) bool { return c.Type == of })
	if i < 0 {
		return nil
	}
	return &n.conditions[i]
}

// SameConditions reports whether another version of the node has the same of the conditions that are asked for. A heartbeat changes none.
func (n *Node) SameConditions(other *Node, asked func(of string) bool) bool {
	differs := func(a, b *Node) bool {
		return slices.ContainsFunc(a.conditions, func(c NodeCondition) bool {
			is := b.Condition(c.Type)
			return (is == nil || is.Status != c.Status || is.Since != c.Since || is.BeforeBoot != c.BeforeBoot) && asked(c.Type)
		})
	}
	return !differs(n, other) && !differs(other, n)
}

// followConditions notes of each condition whether somebody has reported it since the node booted.
//
// Who sets a condition writes a heartbeat or a transition when it has looked again. Some write only what is new. What they wrote may never
// be written again: it counts again when the kubelet has been ready for a while. They are known by having written no heartbeat since the
// transition: SetNodeCondition of component-helpers gives a condition that is written once a heartbeat of the same time.
func (n *Node) followConditions(before *Node, booted bool) {
	for i := range n.conditions {
		c, was := &n.conditions[i], before.Condition(n.conditions[i].Type)
		if c.BeforeBoot = booted && c.saidAt() < TimestampOf(n.BootedAt); was != nil {
			same := c.Status == was.Status && c.transition == was.transition && c.heartbeat == was.heartbeat
			switch {
			case booted:
				c.BeforeBoot = c.BeforeBoot || same
			case was.BeforeBoot && same:
				c.BeforeBoot = c.heartbeat > c.transition || !n.hasSettled(before.BootedAt)
			}
		}
	}
}

// saidAt is when somebody last wrote the condition.
func (c *NodeCondition) saidAt() Timestamp { return max(c.transition, c.heartbeat) }

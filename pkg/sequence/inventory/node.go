package inventory

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Node holds the facts of a node.
type Node struct {
	Name            string
	ResourceVersion string
	Object          *corev1.Node // with nothing but what decides who may run there
	MaxPods         int          // how many pods it may have; 0 if it has not said yet

	NotReady NodeNotReady // zero if it is ready, or has not said yet

	conditions []NodeCondition
}

// NodeNotReady says since when and why a node is not ready, for messages.
type NodeNotReady struct {
	Since           metav1.Time
	Reason, Message string
}

// IsZero reports whether nothing says that the node is not ready.
func (n NodeNotReady) IsZero() bool { return n == NodeNotReady{} }

func notReady(conditions []corev1.NodeCondition) NodeNotReady {
	for i := range conditions {
		if c := &conditions[i]; c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return NodeNotReady{c.LastTransitionTime, cmp.Or(c.Reason, string(c.Status)), c.Message}
		}
	}
	return NodeNotReady{}
}

// ViewNode reads the facts of a node.
func ViewNode(object *corev1.Node) Node {
	return Node{
		Name: object.Name, ResourceVersion: object.ResourceVersion, MaxPods: int(object.Status.Allocatable.Pods().Value()),
		NotReady: notReady(object.Status.Conditions), conditions: viewConditions(object),
		Object: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: object.Name, UID: object.UID, Labels: object.Labels, CreationTimestamp: object.CreationTimestamp,
			},
			Spec: corev1.NodeSpec{Taints: object.Spec.Taints, Unschedulable: object.Spec.Unschedulable},
		},
	}
}

// Same reports whether another version of the node differs in nothing that matters but for its conditions, see SameConditions. Most updates
// of nodes are heartbeats.
func (n *Node) Same(other *Node) bool {
	was, is := n.Object, other.Object
	return was.UID == is.UID && maps.Equal(was.Labels, is.Labels) && was.Spec.Unschedulable == is.Spec.Unschedulable &&
		equality.Semantic.DeepEqual(was.Spec.Taints, is.Spec.Taints) && n.MaxPods == other.MaxPods &&
		n.NotReady == other.NotReady
}

// Renew takes over from a version that is the Same what does not matter or changes with each heartbeat.
func (n *Node) Renew(newer *Node) {
	n.ResourceVersion, n.conditions = newer.ResourceVersion, newer.conditions
}

// Hostname returns the host name of the node; empty if it has none.
func (n *Node) Hostname() string { return n.Object.Labels[corev1.LabelHostname] }

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
			return (is == nil || is.Status != c.Status || is.Since != c.Since) && asked(c.Type)
		})
	}
	return !differs(n, other) && !differs(other, n)
}

package inventory

import (
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeCondition is a condition of a node, as far as a group may ask for it.
type NodeCondition struct {
	Type   string
	Status metav1.ConditionStatus
	// Since is since when the condition has this status: its last transition, but not before the node was created. It is zero if the API does not say.
	Since Timestamp
}

// viewConditions reads the conditions of a node. Their types are the same on all nodes, so each is kept once.
func viewConditions(node *corev1.Node) []NodeCondition {
	all := make([]NodeCondition, 0, len(node.Status.Conditions))
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		condition := NodeCondition{
			Type: unique.Make(string(c.Type)).Value(), Status: unique.Make(metav1.ConditionStatus(c.Status)).Value(),
			Since: TimestampOf(c.LastTransitionTime.Time),
		}
		if condition.Since != 0 {
			condition.Since = max(condition.Since, TimestampOf(node.CreationTimestamp.Time))
		}
		all = append(all, condition)
	}
	return all
}

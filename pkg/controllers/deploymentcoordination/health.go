package deploymentcoordination

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "example.com/podsequence/apis/apps/v1"
)

// setHealth sets Reconciling or Stalled, or neither, by the conditions that are set already.
func (d *deliberation) setHealth() {
	conditions := &d.status.Conditions
	switch {
	case meta.IsStatusConditionTrue(*conditions, v1.ConditionReady):
		meta.RemoveStatusCondition(conditions, v1.ConditionReconciling)
		meta.RemoveStatusCondition(conditions, v1.ConditionStalled)
	case d.isStalled():
		setStalled(conditions, v1.ConditionDegraded)
	default:
		setOneOf(conditions, v1.ConditionReconciling, v1.ConditionStalled, v1.ConditionReady)
	}
}

// isStalled reports whether nothing more rolls out here unless somebody acts. It is for a coordination that is not ready.
func (d *deliberation) isStalled() bool {
	if !meta.IsStatusConditionTrue(d.status.Conditions, v1.ConditionDegraded) {
		return false
	}
	if m := d.active(); m != nil {
		return d.halted != "" || m.pause() == pausedByOwner || len(d.neededBy(m)) > 0
	}
	// What waits will still get its turn. What was unpaused by somebody else rolls out by itself.
	return !slices.ContainsFunc(d.members, func(m member) bool { return m.waits() || m.Elsewhere && m.isPending() })
}

// setStalled says that nothing goes on, for the reason that the other condition has.
func setStalled(conditions *[]metav1.Condition, like string) {
	setOneOf(conditions, v1.ConditionStalled, v1.ConditionReconciling, like)
}

// setOneOf makes a condition true, with reason and message of another one that exists, and removes the one that excludes it.
func setOneOf(conditions *[]metav1.Condition, kind, excluded, like string) {
	condition := *meta.FindStatusCondition(*conditions, like)
	condition.Type, condition.Status = kind, metav1.ConditionTrue
	meta.SetStatusCondition(conditions, condition)
	meta.RemoveStatusCondition(conditions, excluded)
}

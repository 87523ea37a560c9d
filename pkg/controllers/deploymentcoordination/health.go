package deploymentcoordination

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "example.com/podsequence/apis/apps/v1"
)

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

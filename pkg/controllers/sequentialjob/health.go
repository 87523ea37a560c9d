package sequentialjob

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// setHealth sets the conditions that tools read who know nothing of SequentialJobs. Each says the same as one of the others,
// under the name that these tools know.
func setHealth(conditions *[]metav1.Condition) {
	for _, same := range []struct {
		kind, of  string
		onlyWhile bool // it is there only while it is true
	}{
		{kind: v1alpha1.ConditionReady, of: v1alpha1.ConditionAvailable},
		{kind: v1alpha1.ConditionReconciling, of: v1alpha1.ConditionProgressing, onlyWhile: true},
		{kind: v1alpha1.ConditionStalled, of: v1alpha1.ConditionFailed, onlyWhile: true},
	} {
		condition := *meta.FindStatusCondition(*conditions, same.of)
		condition.Type = same.kind
		if same.onlyWhile && condition.Status != metav1.ConditionTrue {
			meta.RemoveStatusCondition(conditions, same.kind)
			continue
		}
		meta.SetStatusCondition(conditions, condition)
	}
}

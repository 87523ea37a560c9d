package sequentialjob

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// The operator that had this API first wrote no phase. What its status says of progress means the same, so an object that it has run to its
// end does not run again, and one in which it was between two steps goes on.

// formerConditions are those of that operator.
var formerConditions = []string{"JobsRunning", "JobsCompleted", "JobsFailed", "ResourceModified"}

func isFormerCondition(c metav1.Condition) bool { return slices.Contains(formerConditions, c.Type) }

// hasEndedBefore reports whether that operator has run the object to its end.
func hasEndedBefore(status v1alpha1.SequentialJobStatus) bool {
	return status.Phase == "" && (status.CompletionTime != nil || status.Progress.FailedIndex != nil)
}

// takenOver is the status of an object that has ended before.
func takenOver(w world) v1alpha1.SequentialJobStatus {
	before, p := w.object.Status, progressOf(w)
	var status v1alpha1.SequentialJobStatus
	if index := before.Progress.FailedIndex; index != nil {
		reason := cmp.Or(before.Progress.FailureReason, v1alpha1.ReasonJobFailed)
		step := max(0, min(*index, p.steps-1))
		status = failed(w, p, failure{reason: v1alpha1.ReasonJobFailed, cause: reason, step: &step, message: fmt.Sprintf(
			"step %d/%d failed under the original operator of this API: %s", step+1, p.steps, reason)})
	} else {
		status = succeeded(w, p)
	}
	status.CompletionTime = ptr.To(ptr.Deref(before.CompletionTime, *status.CompletionTime))
	return status
}

// ranBefore is why an object fails of which that operator ran a step when it was stopped: nobody knows how the step ends.
func ranBefore(p progress, name string) *failure {
	return &failure{reason: v1alpha1.ReasonJobDeleted, message: fmt.Sprintf(
		"%s ran under the original operator of this API, in pod %s-%d, and does not run again by itself: when that pod has ended, "+
			"run the step again with the annotation %s", p.step(), name, p.current, v1alpha1.AnnotationRetry)}
}

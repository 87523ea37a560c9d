package sequentialjob

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// A step runs again when its Job is discarded. Status names that Job first: so it counts no more, whenever the process
// ends, and its end is not taken for that of the step. Then it is deleted with its pods, and the next Job is created
// when they are gone.

// maxRetryLength is how much of the annotation counts.
const maxRetryLength = 128

// retryOf is the value of the object's annotation.
func retryOf(object *v1alpha1.SequentialJob) string {
	value := object.Annotations[v1alpha1.AnnotationRetry]
	return strings.ToValidUTF8(value[:min(len(value), maxRetryLength)], "")
}

// isRetryAsked reports whether the object has failed and is to run again.
func isRetryAsked(object *v1alpha1.SequentialJob) bool {
	value := retryOf(object)
	return object.Status.Phase == v1alpha1.PhaseFailed && value != "" && value != object.Status.Retry
}

// retried is the status when the step that failed is about to run again, and the time anew.
func retried(w world) v1alpha1.SequentialJobStatus {
	p := progressOf(w)
	s := newStatus(w, p)
	s.Phase = v1alpha1.PhasePending
	s.resetClock()
	s.discard(p)
	s.Message = fmt.Sprintf("%s runs again, because of the annotation %s", p.step(), v1alpha1.AnnotationRetry)
	s.condition(v1alpha1.ConditionProgressing, true, v1alpha1.ReasonRetry)
	return s.finish()
}

// discarded is the status when somebody else has resumed a Job that we suspended. Suspending it once more would have no
// end: that is what a queueing system does with every Job it has admitted.
func discarded(w world, p progress) v1alpha1.SequentialJobStatus {
	s := newStatus(w, p)
	s.Phase = v1alpha1.PhaseRunning
	s.resetClock()
	s.discard(p)
	s.Message = fmt.Sprintf("%s: Job %s was resumed by somebody else, such as a queueing system, while spec.suspend is true: "+
		"it is deleted, and the step runs again when spec.suspend is false", p.step(), jobName(w.object.Name, p.current))
	s.condition(v1alpha1.ConditionProgressing, false, v1alpha1.ReasonSuspended)
	return s.finish()
}

// decideDiscarded deletes the discarded Job, and waits until it is gone.
func decideDiscarded(w world, p progress) decision {
	if p.discarded.DeletionTimestamp == nil {
		return decision{write: deleteJob}
	}
	s := newStatus(w, p)
	s.Phase = v1alpha1.PhasePending
	reason, holds := v1alpha1.ReasonWaitingForOld, true
	if w.object.Spec.Suspend {
		s.Phase, reason, holds = v1alpha1.PhaseRunning, v1alpha1.ReasonSuspended, false
	}
	s.Message = fmt.Sprintf("%s: Job %s is being deleted, so that the step can run again", p.step(), p.discarded.Name)
	s.condition(v1alpha1.ConditionProgressing, holds, reason)
	return decision{status: s.finish()}
}

// isDiscarded reports whether status says of the Job of that step that it counts no more.
func isDiscarded(status v1alpha1.SequentialJobStatus, index int32, uid string) bool {
	return status.Progress.DiscardedJob != "" && string(status.Progress.DiscardedJob) == uid &&
		ptr.Deref(status.Progress.CurrentIndex, -1) == index
}

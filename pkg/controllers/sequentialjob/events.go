package sequentialjob

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/internal/printable"
)

// event is something worth telling about an object.
type event struct {
	kind   string // corev1.EventTypeNormal or corev1.EventTypeWarning
	reason string
	action string // what was being done
	index  int32  // of the step it is about
	note   string
}

// The actions of events.
const (
	actionRun     = "Run"
	actionObserve = "Observe"
)

// eventsFor is what a status tells that the one before did not. Each status that is written is compared with the one
// that it replaces, so no event comes twice, however often the controller is restarted. One that ends between a write
// and its events leaves these untold: status is what counts.
func eventsFor(object *v1alpha1.SequentialJob, before, after v1alpha1.SequentialJobStatus) []event {
	var all []event
	for i := range int32(len(object.Spec.Containers)) {
		step := fmt.Sprintf("step %d/%d %q", i+1, len(object.Spec.Containers), object.Spec.Containers[i].Name)
		job := jobName(object.Name, i)
		if wasStarted(after, i) && !wasStarted(before, i) {
			all = append(all, event{corev1.EventTypeNormal, v1alpha1.EventJobStarted, actionRun, i,
				fmt.Sprintf("%s started as Job %s", step, job)})
		}
		if isCompleted(after, i) && !isCompleted(before, i) {
			all = append(all, event{corev1.EventTypeNormal, v1alpha1.EventJobCompleted, actionObserve, i,
				fmt.Sprintf("%s completed in Job %s", step, job)})
		}
	}
	current := ptr.Deref(after.Progress.CurrentIndex, 0)
	if failureReason(before) != "" && failureReason(after) == "" {
		all = append(all, event{corev1.EventTypeNormal, v1alpha1.EventRetry, actionRun, current, printable.Note(after.Message)})
	} else if job := after.Progress.DiscardedJob; job != "" && job != before.Progress.DiscardedJob {
		all = append(all, event{corev1.EventTypeWarning, v1alpha1.EventJobDiscarded, actionObserve, current, printable.Note(after.Message)})
	}
	if reason := failureReason(after); reason != "" && failureReason(before) == "" {
		step := ptr.Deref(after.Progress.FailedIndex, current)
		all = append(all, event{corev1.EventTypeWarning, reason, actionObserve, step, printable.Note(after.Message)})
	}
	if progressingReason(after) == v1alpha1.ReasonRestored && progressingReason(before) != v1alpha1.ReasonRestored {
		all = append(all, event{corev1.EventTypeWarning, v1alpha1.ReasonRestored, actionObserve, current, printable.Note(after.Message)})
	}
	if isRefused(after) && !isRefused(before) {
		all = append(all, event{corev1.EventTypeWarning, v1alpha1.ReasonJobCreateFailed, actionRun, current, printable.Note(after.Message)})
	}
	if isChangeRefused(after) && !isChangeRefused(before) {
		all = append(all, event{corev1.EventTypeWarning, v1alpha1.ReasonJobUpdateFailed, actionRun, current, printable.Note(after.Message)})
	}
	return all
}

// wasStarted reports whether a status says that a step has, or has had, a Job.
func wasStarted(status v1alpha1.SequentialJobStatus, index int32) bool {
	if isCompleted(status, index) {
		return true
	}
	return status.State.Active > 0 && ptr.Deref(status.Progress.CurrentIndex, -1) == index
}

func isCompleted(status v1alpha1.SequentialJobStatus, index int32) bool {
	return slices.Contains(status.Progress.CompletedIndices, index)
}

// failureReason is the reason of the condition Failed; empty if it is not true.
func failureReason(status v1alpha1.SequentialJobStatus) string {
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionFailed)
	if c == nil || c.Status != "True" {
		return ""
	}
	return c.Reason
}

// isRefused reports whether the API server refuses a Job for now.
func isRefused(status v1alpha1.SequentialJobStatus) bool {
	return progressingReason(status) == v1alpha1.ReasonJobCreateFailed
}

// isChangeRefused reports whether the API server refuses a change of a Job for now.
func isChangeRefused(status v1alpha1.SequentialJobStatus) bool {
	return progressingReason(status) == v1alpha1.ReasonJobUpdateFailed
}

// progressingReason is the reason of the condition Progressing; empty if there is none.
func progressingReason(status v1alpha1.SequentialJobStatus) string {
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionProgressing); c != nil {
		return c.Reason
	}
	return ""
}

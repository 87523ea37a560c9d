package report

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/printable"
	"example.com/podsequence/pkg/sequence/spec"
)

// stalling are the reasons of problems that keep a sequence from being completed until somebody changes an object. Pods
// that cannot be held, or are named twice, keep nothing from going on.
var stalling = []string{
	v1alpha1.ReasonInvalidSpec, v1alpha1.ReasonGateNotAllowed, v1alpha1.ReasonUnsupportedScope, v1alpha1.ReasonGangSplit,
	v1alpha1.ReasonWaitsForItself,
}

// setHealth sets the conditions that tools read who know nothing of sequences: Completed, which is always there, and
// Reconciling and Stalled, which are there while they are true. They follow from the report and from the conditions that
// are set already.
func (r Report) setHealth(conditions *[]metav1.Condition, now time.Time) {
	set := func(condition metav1.Condition) {
		condition.ObservedGeneration, condition.LastTransitionTime = r.Generation, metav1.NewTime(now)
		condition.Message = printable.Line(condition.Message)
		meta.SetStatusCondition(conditions, condition)
	}
	progressing := *meta.FindStatusCondition(*conditions, v1alpha1.ConditionProgressing)

	completed := metav1.Condition{
		Type: v1alpha1.ConditionCompleted, Status: metav1.ConditionFalse,
		Reason: progressing.Reason, Message: progressing.Message,
	}
	if r.phase() == v1alpha1.PhaseCompleted {
		completed.Status, completed.Reason = metav1.ConditionTrue, v1alpha1.ReasonCompleted
		completed.Message = r.all("passed")
	}
	set(completed)

	stall := r.stall()
	if stall != nil {
		set(metav1.Condition{
			Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: stall.Reason, Message: cutMessage(stall.Message),
		})
	} else {
		meta.RemoveStatusCondition(conditions, v1alpha1.ConditionStalled)
	}
	if stall == nil && progressing.Status == metav1.ConditionTrue {
		set(metav1.Condition{
			Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue,
			Reason: progressing.Reason, Message: progressing.Message,
		})
	} else {
		meta.RemoveStatusCondition(conditions, v1alpha1.ConditionReconciling)
	}
}

// stall returns why the sequence will not be completed unless somebody acts; nil if it may be.
func (r Report) stall() *spec.Problem {
	switch {
	case r.Refused:
		refusal := r.refusal()
		return &refusal
	case r.failure() != nil:
		return r.failure()
	case r.Completed():
		return nil
	}
	i := slices.IndexFunc(r.Problems, func(p spec.Problem) bool { return slices.Contains(stalling, p.Reason) })
	if i < 0 {
		return nil
	}
	return &r.Problems[i]
}

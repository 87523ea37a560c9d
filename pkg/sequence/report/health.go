package report

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
)

// stalling are the reasons of problems that keep a sequence from being completed until somebody changes an object. Pods
// that cannot be held, or are named twice, keep nothing from going on.
var stalling = []string{
	v1alpha1.ReasonInvalidSpec, v1alpha1.ReasonGateNotAllowed, v1alpha1.ReasonUnsupportedScope, v1alpha1.ReasonGangSplit,
	v1alpha1.ReasonWaitsForItself,
}

// health are the conditions that tools read who know nothing of sequences: Completed, which is always there, and Reconciling and Stalled,
// which are there while they are true.
func (r Report) health(progressing metav1.Condition) []metav1.Condition {
	completed := progressing
	completed.Type, completed.Status = v1alpha1.ConditionCompleted, metav1.ConditionFalse
	if r.phase() == v1alpha1.PhaseCompleted {
		completed.Status, completed.Reason, completed.Message = metav1.ConditionTrue, v1alpha1.ReasonCompleted, r.all("passed")
	}
	switch stall := r.stall(); {
	case stall != nil:
		return []metav1.Condition{completed, {
			Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: stall.Reason, Message: cutMessage(stall.Message),
		}}
	case progressing.Status == metav1.ConditionTrue:
		progressing.Type = v1alpha1.ConditionReconciling
		return []metav1.Condition{completed, progressing}
	}
	return []metav1.Condition{completed}
}

// stall returns why the sequence will not be completed without intervention; nil if it may be.
func (r Report) stall() *order.Problem {
	switch {
	case r.Refused:
		refusal := r.refusal()
		return &refusal
	case r.failure() != nil:
		return r.failure()
	case r.Completed():
		return nil
	}
	i := slices.IndexFunc(r.Problems, func(p order.Problem) bool { return slices.Contains(stalling, p.Reason) })
	if i < 0 {
		return nil
	}
	return &r.Problems[i]
}

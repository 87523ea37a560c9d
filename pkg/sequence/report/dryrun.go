package report

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// DryRun is what a sequence would have held since its dry run began.
type DryRun struct {
	Pods    []string // that would be held now, sorted
	Total   int      // these, and those that would have been held when their groups were released
	Longest time.Duration
}

// describeDryRun fills in what status says of a dry run. Longest is written with whole seconds, and only when a pod comes or goes:
// status is not written only because time passes.
func (r Report) describeDryRun(status *v1alpha1.PodSequenceStatus, before *v1alpha1.DryRunStatus) {
	if r.DryRun == nil {
		return
	}
	pods := r.DryRun.Pods
	status.DryRun = &v1alpha1.DryRunStatus{
		HeldNow: count(len(pods)), HeldTotal: count(r.DryRun.Total), LongestSeconds: int64(r.DryRun.Longest / time.Second),
		Pods: pods[:min(len(pods), v1alpha1.MaxListedPods)],
	}
	if before != nil { // of pods that are gone, or that a restart has forgotten, only status knows
		status.DryRun.HeldTotal = max(status.DryRun.HeldTotal, before.HeldTotal)
		status.DryRun.LongestSeconds = max(status.DryRun.LongestSeconds, before.LongestSeconds)
	}
	if before != nil && before.HeldNow == status.DryRun.HeldNow && before.HeldTotal == status.DryRun.HeldTotal && slices.Equal(before.Pods, status.DryRun.Pods) {
		status.DryRun.LongestSeconds = before.LongestSeconds
	}
	if r.Suspended {
		status.Message += fmt.Sprintf(" (dry run: %d pods would be held)", len(pods))
	} else {
		status.Message += fmt.Sprintf(" (dry run: no pod is held, %d would be)", len(pods))
	}
}

// dryRunCondition is the condition DryRun. A sequence that never had a dry run has none.
func (r Report) dryRunCondition(before []metav1.Condition) []metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionDryRun, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonEnforced, Message: "spec.dryRun is false"}
	switch {
	case r.DryRun != nil && r.Suspended:
		condition.Status, condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonSuspended
		condition.Message = "spec.dryRun is true, but spec.suspend is true as well and wins: pods are held until you set spec.suspend to false"
		if r.Override.Suspend {
			condition.Message = "spec.dryRun is true, but annotation " + v1alpha1.SuspendAnnotation + " is true and wins: pods are held until you remove it"
		}
	case r.DryRun != nil:
		condition.Status, condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonDryRun
		condition.Message = "spec.dryRun is true: no pod is held, and gates are lifted at once"
	case meta.FindStatusCondition(before, v1alpha1.ConditionDryRun) == nil:
		return nil
	}
	return []metav1.Condition{condition}
}

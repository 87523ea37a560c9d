package report

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/printable"
	"example.com/podsequence/pkg/sequence/order"
)

// conditionWriter writes the conditions of a sequence.
type conditionWriter statusWriter

// conditions returns those that the object has, brought up to date.
func (w conditionWriter) conditions() []metav1.Condition {
	conditions := slices.Clone(w.object.Status.Conditions)
	basic := w.basic()
	health := w.health(*meta.FindStatusCondition(basic, v1alpha1.ConditionProgressing))
	for _, ends := range []string{v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling} {
		if meta.FindStatusCondition(health, ends) == nil {
			meta.RemoveStatusCondition(&conditions, ends)
		}
	}
	for _, condition := range slices.Concat(basic, w.skipped(), w.overridden(), w.dryRun(), health) {
		condition.ObservedGeneration = w.Generation
		condition.Message = printable.Line(condition.Message) // it may contain what others wrote
		condition.LastTransitionTime = metav1.NewTime(w.now)
		isFirst := meta.FindStatusCondition(w.object.Status.Conditions, condition.Type) == nil
		if condition.Type == v1alpha1.ConditionSuspended && !w.Suspended && !w.Resumed && w.Generation == 1 && isFirst {
			condition.LastTransitionTime = w.object.CreationTimestamp // it never was, so it has not been resumed either
		}
		meta.SetStatusCondition(&conditions, condition)
	}
	return conditions
}

// basic are the conditions that every sequence has.
func (w conditionWriter) basic() []metav1.Condition {
	ready := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonCompleted, Message: w.all("satisfied"),
	}
	progressing := metav1.Condition{
		Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonCompleted, Message: w.all("passed"),
	}
	if reason, message := w.unready(); reason != "" {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, reason, message
	}
	if !w.Completed() {
		progressing.Status = metav1.ConditionTrue
		progressing.Reason, progressing.Message = w.waiting()
	}

	degraded := metav1.Condition{
		Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonAsExpected, Message: "the sequence works as its spec says",
	}
	problems := w.AllProblems()
	if failure := w.failure(); failure != nil {
		ready.Reason, ready.Message = failure.Reason, cutMessage(failure.Message)
		if w.stuck() {
			progressing.Status, progressing.Reason, progressing.Message = metav1.ConditionFalse, failure.Reason, ready.Message
		}
	}
	if len(problems) > 0 {
		degraded.Status, degraded.Reason, degraded.Message = metav1.ConditionTrue, problems[0].Reason, joined(problems)
	}

	if w.Refused {
		for _, c := range []*metav1.Condition{&ready, &progressing} {
			c.Status, c.Reason, c.Message = metav1.ConditionFalse, w.refusal().Reason, w.refusal().Message
		}
	}

	suspended := metav1.Condition{
		Type: v1alpha1.ConditionSuspended, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonNotSuspended, Message: "spec.suspend is false",
	}
	if w.Suspended {
		suspended.Status, suspended.Reason = metav1.ConditionTrue, v1alpha1.ReasonSuspended
		suspended.Message = "spec.suspend is true: no more pods are released"
		if w.Override.Suspend {
			suspended.Message = "annotation " + v1alpha1.SuspendAnnotation + " is true: no more pods are released"
		}
		if progressing.Status == metav1.ConditionTrue {
			progressing.Status, progressing.Reason, progressing.Message = metav1.ConditionFalse, suspended.Reason, suspended.Message
		}
	}
	return []metav1.Condition{ready, progressing, degraded, suspended}
}

// joined is all messages in one, cut where a condition's message must end.
func joined(problems []order.Problem) string {
	messages := make([]string, len(problems))
	for i, p := range problems {
		messages[i] = p.Message
	}
	return cutMessage(strings.Join(messages, "; "))
}

// skipped returns the condition that says which groups no group waits for; none for a sequence that never had such groups.
func (w conditionWriter) skipped() []metav1.Condition {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionSkipped, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotSkipped, Message: "no group is skipped",
	}
	if groups := w.skippedGroups(); len(groups) > 0 {
		condition.Status, condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonGroupsSkipped
		condition.Message = fmt.Sprintf("no group waits for %s: remove skip to wait for it again", first(groups))
		if len(w.Override.Skip) > 0 {
			condition.Message = fmt.Sprintf("no group waits for %s: remove skip, and annotation %s, to wait for it again", first(groups), v1alpha1.SkipAnnotation)
		}
	} else if meta.FindStatusCondition(w.object.Status.Conditions, condition.Type) == nil {
		return nil
	}
	return []metav1.Condition{condition}
}

// overridden returns the condition that says what annotations add to the spec; none for a sequence to which they never added anything. Its
// reason says whether one of them cannot be read, which the condition Degraded only says if nothing worse is wrong.
func (w conditionWriter) overridden() []metav1.Condition {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionOverridden, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotOverridden,
		Message: "the sequence does what its spec says",
	}
	switch o := w.Override; {
	case o.IsActive():
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, v1alpha1.ReasonOverridden, overrideMessage(o, writersOf(w.object, o))
		if len(o.Problems) > 0 {
			condition.Reason = v1alpha1.ReasonInvalidOverride
		}
	case len(o.Problems) > 0:
		condition.Reason, condition.Message = v1alpha1.ReasonInvalidOverride, joined(o.Problems)
	case meta.FindStatusCondition(w.object.Status.Conditions, condition.Type) == nil:
		return nil
	case !o.Until.IsZero():
		condition.Message = "the override ended at " + timeText(o.Until) + ": remove its annotations"
	}
	return []metav1.Condition{condition}
}

// dryRunCondition is the condition DryRun. A sequence that never had a dry run has none.
func (w conditionWriter) dryRun() []metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionDryRun, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonEnforced, Message: "spec.dryRun is false"}
	switch {
	case w.DryRun != nil && w.Suspended:
		condition.Status, condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonSuspended
		condition.Message = "spec.dryRun is true, but spec.suspend is true as well and wins: pods are held until you set spec.suspend to false"
		if w.Override.Suspend {
			condition.Message = "spec.dryRun is true, but annotation " + v1alpha1.SuspendAnnotation + " is true and wins: pods are held until you remove it"
		}
	case w.DryRun != nil:
		condition.Status, condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonDryRun
		condition.Message = "spec.dryRun is true: no pod is held, and gates are lifted at once"
	case meta.FindStatusCondition(w.object.Status.Conditions, v1alpha1.ConditionDryRun) == nil:
		return nil
	}
	return []metav1.Condition{condition}
}

// health are the conditions that tools read who know nothing of sequences: Completed, which is always there, and Reconciling and Stalled,
// which are there while they are true.
func (w conditionWriter) health(progressing metav1.Condition) []metav1.Condition {
	completed := progressing
	completed.Type, completed.Status = v1alpha1.ConditionCompleted, metav1.ConditionFalse
	if w.phase() == v1alpha1.PhaseCompleted {
		completed.Status, completed.Reason, completed.Message = metav1.ConditionTrue, v1alpha1.ReasonCompleted, w.all("passed")
	}
	switch stall := w.stall(); {
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

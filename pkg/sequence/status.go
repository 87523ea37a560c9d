package sequence

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Status is what the report says, in the API's words. From the object's present status it takes only what cannot be
// seen in the world any more: when groups were passed, and when conditions last changed.
func (r Report) Status(ps *v1alpha1.PodSequence, now time.Time) v1alpha1.PodSequenceStatus {
	status := v1alpha1.PodSequenceStatus{
		ObservedGeneration: r.Generation,
		Phase:              r.phase(),
		CurrentIndex:       ptr.To(int32(r.Current)),
		Groups:             r.groupStatuses(ps, now),
		Conditions:         slices.Clone(ps.Status.Conditions),
	}
	r.describePods(&status)
	for _, condition := range r.conditions() {
		condition.ObservedGeneration = r.Generation
		condition.LastTransitionTime = metav1.NewTime(now)
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	return status
}

// Completed tells whether all groups are passed.
func (r Report) Completed() bool { return r.Current == len(r.Groups) }

func (r Report) phase() v1alpha1.Phase {
	switch {
	case r.Completed():
		return v1alpha1.PhaseCompleted
	case r.Current == 0 && !slices.ContainsFunc(r.Groups, func(g GroupReport) bool { return len(g.Members) > 0 }):
		return v1alpha1.PhasePending
	}
	return v1alpha1.PhaseInProgress
}

// describePods fills in the lists and lines for people.
func (r Report) describePods(status *v1alpha1.PodSequenceStatus) {
	var processed []string
	var ready, expected int
	for i, g := range r.Groups {
		ready, expected = ready+g.Ready, expected+g.Expected
		if i < r.Current {
			processed = append(processed, g.Members...)
		}
	}
	slices.Sort(processed)

	cut := 0
	list := func(names []string) []string {
		cut = max(cut, len(names))
		return names[:min(len(names), v1alpha1.MaxListedPods)]
	}
	status.ProcessedPods = list(processed)
	if r.Completed() {
		status.CurrentGroup = "-"
		status.ReadyPods = fmt.Sprintf("%d/%d", ready, expected)
		status.Message = fmt.Sprintf("all %d groups are passed", len(r.Groups))
	} else {
		g := r.Groups[r.Current]
		status.CurrentGroup = fmt.Sprintf("%d/%d %s", r.Current+1, len(r.Groups), g.Title)
		status.ReadyPods = fmt.Sprintf("%d/%d", g.Ready, g.Expected)
		status.CurrentGroupPods = list(g.Members)
		status.ReadyPodsInCurrentGroup = list(g.ReadyMembers)
		status.Message = r.waitingFor(r.Current)
	}
	if cut > v1alpha1.MaxListedPods {
		status.Message += fmt.Sprintf(" (lists are cut at %d of %d pods)", v1alpha1.MaxListedPods, cut)
	}
}

func (r Report) waitingFor(i int) string {
	g := r.Groups[i]
	return fmt.Sprintf("waiting for group %d/%d %q: %s", i+1, len(r.Groups), g.Title, count(g.Ready, g.Expected))
}

func (r Report) groupStatuses(ps *v1alpha1.PodSequence, now time.Time) []v1alpha1.GroupStatus {
	statuses := make([]v1alpha1.GroupStatus, len(r.Groups))
	released := &ps.CreationTimestamp
	for i, g := range r.Groups {
		var before v1alpha1.GroupStatus
		if i < len(ps.Status.Groups) && ps.Status.Groups[i].Hash == g.Hash {
			before = ps.Status.Groups[i]
		}
		status := v1alpha1.GroupStatus{
			Name: g.Title, Hash: g.Hash, Expected: int32(g.Expected), Ready: int32(g.Ready),
			Phase: v1alpha1.GroupWaiting,
		}
		if g.Satisfied {
			status.SatisfiedAt = satisfiedAt(g, before, now)
		}
		if i <= r.Current {
			status.Phase = v1alpha1.GroupInProgress
			status.ReleasedAt = released.DeepCopy()
		}
		if i < r.Current {
			status.Phase = v1alpha1.GroupPassed
			status.PassedAt = passedAt(status.SatisfiedAt, released, before, now)
			released = status.PassedAt
		}
		statuses[i] = status
	}
	return statuses
}

// satisfiedAt is when the last of the group's pods turned ready. A time in the future counts as now.
func satisfiedAt(g GroupReport, before v1alpha1.GroupStatus, now time.Time) *metav1.Time {
	switch {
	case g.LastReady.After(now):
		if before.SatisfiedAt != nil && !before.SatisfiedAt.After(now) {
			return before.SatisfiedAt
		}
		return ptr.To(metav1.NewTime(now))
	case !g.LastReady.IsZero():
		return ptr.To(metav1.NewTime(g.LastReady))
	case before.SatisfiedAt != nil:
		return before.SatisfiedAt
	}
	return ptr.To(metav1.NewTime(now))
}

// passedAt is the recorded time; or, the first time it is written, when the group was satisfied, but not before it was
// released. A group that was passed on other evidence than its pods' readiness was passed by now.
func passedAt(satisfied, released *metav1.Time, before v1alpha1.GroupStatus, now time.Time) *metav1.Time {
	switch {
	case before.PassedAt != nil:
		return before.PassedAt
	case satisfied == nil:
		return ptr.To(metav1.NewTime(now))
	case satisfied.Before(released):
		return released
	}
	return satisfied
}

func (r Report) conditions() []metav1.Condition {
	ready := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonCompleted, Message: fmt.Sprintf("all %d groups are satisfied", len(r.Groups)),
	}
	for i, g := range r.Groups {
		if !g.Satisfied {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, r.waitingReason(i), r.waitingFor(i)
			break
		}
	}

	progressing := metav1.Condition{
		Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonCompleted, Message: fmt.Sprintf("all %d groups are passed", len(r.Groups)),
	}
	if !r.Completed() {
		progressing.Status = metav1.ConditionTrue
		progressing.Reason, progressing.Message = r.waitingReason(r.Current), r.waitingFor(r.Current)
	}

	degraded := metav1.Condition{
		Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonAsExpected, Message: "nothing keeps the sequence from doing what its spec says",
	}
	if len(r.Problems) > 0 {
		degraded.Status, degraded.Reason, degraded.Message = metav1.ConditionTrue, r.Problems[0].Reason, joined(r.Problems)
	}
	return []metav1.Condition{ready, progressing, degraded}
}

func (r Report) waitingReason(i int) string {
	if len(r.Groups[i].Members) == 0 {
		return v1alpha1.ReasonWaitingForPods
	}
	return v1alpha1.ReasonGroupNotReady
}

// joined is all messages in one, cut where a condition's message must end.
func joined(problems []Problem) string {
	const limit = 1024
	messages := make([]string, len(problems))
	for i, p := range problems {
		messages[i] = p.Message
	}
	text := strings.Join(messages, "; ")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "..."
	}
	return text
}

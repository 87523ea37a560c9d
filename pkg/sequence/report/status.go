package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/printable"
	"example.com/podsequence/pkg/sequence/order"
)

// Status is what the report says, in the API's words. From the object's present status it takes only what cannot be
// seen in the world any more: when groups were released and passed, and when conditions last changed.
func (r Report) Status(ps *v1alpha1.PodSequence, now time.Time) v1alpha1.PodSequenceStatus {
	status := v1alpha1.PodSequenceStatus{
		ObservedGeneration: r.Generation,
		ObservedUID:        ps.UID,
		Phase:              r.phase(),
		State:              r.state().String(),
		EnforcementMode:    v1alpha1.BootstrapOnly,
		CurrentIndex:       ptr.To(int32(r.Current)),
		Groups:             r.groupStatuses(ps, now),
		Passes:             r.passes(&ps.Status),
		Failures:           r.Failures,
		Conditions:         slices.Clone(ps.Status.Conditions),
	}
	if r.Continuous {
		status.EnforcementMode = v1alpha1.Continuous
	}
	if r.PerNode {
		r.describeNodes(&status, ps, now)
	} else {
		r.describePods(&status)
	}
	switch {
	case r.Refused:
		status.Message = r.refusal().Message
	case r.Suspended:
		status.Message += " (suspended)"
	}
	r.describeDryRun(&status, ps.Status.DryRun)
	r.describeOutOfOrder(&status)
	status.DegradedReasons = r.degradedReasons()
	status.Memory = r.memory(status.Groups)
	status.Message = printable.Line(status.Message)
	conditions := r.conditions()
	health := r.health(*meta.FindStatusCondition(conditions, v1alpha1.ConditionProgressing))
	for _, ends := range []string{v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling} {
		if meta.FindStatusCondition(health, ends) == nil {
			meta.RemoveStatusCondition(&status.Conditions, ends)
		}
	}
	for _, condition := range slices.Concat(conditions, r.skipped(ps), r.overridden(ps), r.dryRunCondition(ps.Status.Conditions), health) {
		condition.ObservedGeneration = r.Generation
		condition.Message = printable.Line(condition.Message) // it may contain what others wrote
		condition.LastTransitionTime = metav1.NewTime(now)
		isFirst := meta.FindStatusCondition(ps.Status.Conditions, condition.Type) == nil
		if condition.Type == v1alpha1.ConditionSuspended && !r.Suspended && !r.Resumed && r.Generation == 1 && isFirst {
			condition.LastTransitionTime = ps.CreationTimestamp // it never was, so it has not been resumed either
		}
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	return status
}

// Completed reports whether all groups are passed; for scope Node, whether all nodes that take part have every group
// satisfied, there is at least one, and every member has a node.
func (r Report) Completed() bool {
	if !r.PerNode {
		return r.Current == len(r.Groups)
	}
	return len(r.Nodes) > 0 && r.Unbound == 0 && !slices.ContainsFunc(r.Nodes, func(n Node) bool { return !n.Completed })
}

// failure is what keeps the sequence, or one of its nodes, from going on without intervention.
func (r Report) failure() *order.Problem {
	if !r.PerNode {
		if i := slices.IndexFunc(r.Groups, func(g Group) bool { return g.Failure != nil }); i >= 0 {
			return r.Groups[i].Failure
		}
		return nil
	}
	for _, n := range r.Nodes {
		if n.Group != nil && n.Group.Failure != nil {
			return n.Group.Failure
		}
	}
	return nil
}

// AllProblems are the problems of the sequence and, before them, what keeps it from going on: for all of these it is Degraded.
func (r Report) AllProblems() []order.Problem {
	if failure := r.failure(); failure != nil {
		return append([]order.Problem{*failure}, r.Problems...)
	}
	return r.Problems
}

// degradedReasons are the reasons of all problems, sorted.
func (r Report) degradedReasons() []string {
	var reasons []string
	for _, p := range r.AllProblems() {
		reasons = append(reasons, p.Reason)
	}
	slices.Sort(reasons)
	return slices.Compact(reasons)
}

// refusal is why the namespace to which the sequence points does not allow it.
func (r Report) refusal() order.Problem {
	return order.Problem{Reason: r.Problems[0].Reason, Message: cutMessage(r.Problems[0].Message)}
}

func (r Report) phase() v1alpha1.Phase {
	switch {
	case r.Refused:
		return v1alpha1.PhasePending
	case r.failure() != nil:
		return v1alpha1.PhaseFailed
	case r.Completed():
		return v1alpha1.PhaseCompleted
	case r.Current == 0 && r.Unbound == 0 && len(r.Nodes) == 0 &&
		!slices.ContainsFunc(r.Groups, func(g Group) bool { return len(g.Members) > 0 || (g.Current && g.WithoutMembers) }):
		return v1alpha1.PhasePending
	}
	return v1alpha1.PhaseInProgress
}

// describePods fills in the lists and lines for people.
func (r Report) describePods(status *v1alpha1.PodSequenceStatus) {
	var processed []string
	for _, g := range r.Groups {
		if g.Passed {
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
		status.ReadyPods = r.readyOfAll()
		status.Message = r.all("passed")
	} else {
		g := r.Groups[r.Current]
		status.CurrentGroup = r.currentGroup()
		status.ReadyPods = fmt.Sprintf("%d/%d", g.Ready, g.Expected)
		status.CurrentGroupPods = list(g.Members)
		status.ReadyPodsInCurrentGroup = int32(len(g.ReadyMembers))
		status.Message = r.waitingForAll()
		if failure := r.failure(); failure != nil {
			status.Message = cutMessage(failure.Message)
		}
	}
	if cut > v1alpha1.MaxListedPods {
		status.Message += fmt.Sprintf(" (lists show %d of %d pods)", v1alpha1.MaxListedPods, cut)
	}
}

// readyOfAll counts the pods of all groups, such as 3/5.
func (r Report) readyOfAll() string {
	ready, expected := 0, 0
	for _, g := range r.Groups {
		ready, expected = ready+g.Ready, expected+g.Expected
	}
	return fmt.Sprintf("%d/%d", ready, expected)
}

func (r Report) waitingFor(i int) string { return "waiting for " + r.howFar(i) }

// howFar names a group and says how far it is.
func (r Report) howFar(i int) string {
	g := r.Groups[i]
	return fmt.Sprintf("%s: %s", Where{Index: i, Groups: len(r.Groups), Title: g.Title}, r.progress(g))
}

// progress says how far a group is, and why its pass cannot be recorded.
func (r Report) progress(g Group) string {
	if g.Recording && r.WhyUnrecorded != "" {
		return cutMessage(g.Progress + ": " + r.WhyUnrecorded)
	}
	return cutMessage(g.whole())
}

func (r Report) groupStatuses(ps *v1alpha1.PodSequence, now time.Time) []v1alpha1.GroupStatus {
	statuses := make([]v1alpha1.GroupStatus, len(r.Groups))
	objects := order.ObjectRecords(&ps.Status)
	defer CutObjectMessages(statuses)
	for i, g := range r.Groups {
		before := order.RecordOf(&ps.Status, g.Hash, i)
		status := v1alpha1.GroupStatus{
			Name: g.Title, Hash: g.Hash, Expected: count(g.Expected), Ready: count(g.Ready),
			Phase: r.groupPhase(i), Objects: g.recordedObjects(objects),
		}
		if r.Refused && !g.Passed {
			// Without its hash nothing is read back of it: when consent comes, the group begins anew.
			status.Hash = ""
			statuses[i] = status
			continue
		}
		if g.Satisfied && !r.PerNode {
			status.SatisfiedAt = known(g.SatisfiedAt, now)
		}
		if status.ChangedAt = before.ChangedAt; !g.EditedAt.IsZero() && (status.ChangedAt == nil || status.ChangedAt.Time.Before(g.EditedAt)) {
			status.ChangedAt = known(g.EditedAt, now)
		}
		status.ReleasedAt = before.ReleasedAt
		switch {
		case r.PerNode && i > 0: // each node has its own
		case !r.PerNode && !g.Released && !g.ReleasedBefore && !r.Refused:
			status.ReleasedAt = nil // it is held again
		case g.Released && (status.ReleasedAt == nil || (r.Continuous && !r.PerNode)):
			status.ReleasedAt = known(g.ReleasedAt, now)
		}
		if status.FirstSatisfiedAt = before.FirstSatisfiedAt; status.FirstSatisfiedAt == nil && g.SatisfiedOnce && !r.PerNode {
			status.FirstSatisfiedAt = known(g.SatisfiedAt, now)
		}
		if g.Passed {
			status.PassedAt = before.PassedAt
			if status.PassedAt == nil {
				status.PassedAt = known(g.PassedAt, now)
			}
			if status.ReleasedAt != nil && status.PassedAt.Before(status.ReleasedAt) {
				status.PassedAt = status.ReleasedAt
			}
		}
		statuses[i] = status
	}
	return statuses
}

// passes are those that status keeps: of groups that are still defined in the same way, while passes cannot be lost. What an earlier
// release recorded is among them.
func (r Report) passes(status *v1alpha1.PodSequenceStatus) map[string]v1alpha1.GroupPass {
	if r.PerNode || r.Continuous {
		return nil
	}
	passes := map[string]v1alpha1.GroupPass{}
	for _, g := range r.Groups {
		pass, recorded := status.Passes[g.Hash]
		switch {
		case recorded && pass.UID == r.UID:
			passes[g.Hash] = pass
		case g.Passed && r.DryRun == nil && g.Hash != "":
			passes[g.Hash] = v1alpha1.GroupPass{UID: r.UID, At: metav1.NewTime(g.PassedAt.Truncate(time.Second)), TimedOut: !g.SatisfiedOnce}
		}
	}
	if len(passes) == 0 {
		return nil
	}
	return passes
}

// count is a number as status keeps it. Workloads may ask for more pods together than its type holds.
func count(n int) int32 { return int32(min(max(n, 0), math.MaxInt32)) }

func (r Report) groupPhase(i int) v1alpha1.GroupPhase {
	switch g := r.Groups[i]; {
	case g.Skipped:
		return v1alpha1.GroupSkipped
	case r.PerNode && g.Satisfied && !g.Awaited, g.Passed:
		return v1alpha1.GroupPassed
	case g.Failure != nil:
		return v1alpha1.GroupFailed
	case g.Released:
		return v1alpha1.GroupInProgress
	}
	return v1alpha1.GroupWaiting
}

// known is the time in the API's type and whole seconds; now if it is not known.
func known(t, now time.Time) *metav1.Time {
	if t.IsZero() || t.After(now) {
		t = now
	}
	return ptr.To(metav1.NewTime(t.Truncate(time.Second)))
}

func (r Report) conditions() []metav1.Condition {
	ready := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonCompleted, Message: r.all("satisfied"),
	}
	progressing := metav1.Condition{
		Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonCompleted, Message: r.all("passed"),
	}
	if reason, message := r.unready(); reason != "" {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, reason, message
	}
	if !r.Completed() {
		progressing.Status = metav1.ConditionTrue
		progressing.Reason, progressing.Message = r.waiting()
	}

	degraded := metav1.Condition{
		Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonAsExpected, Message: "the sequence works as its spec says",
	}
	problems := r.AllProblems()
	if failure := r.failure(); failure != nil {
		ready.Reason, ready.Message = failure.Reason, cutMessage(failure.Message)
		if r.stuck() {
			progressing.Status, progressing.Reason, progressing.Message = metav1.ConditionFalse, failure.Reason, ready.Message
		}
	}
	if len(problems) > 0 {
		degraded.Status, degraded.Reason, degraded.Message = metav1.ConditionTrue, problems[0].Reason, joined(problems)
	}

	if r.Refused {
		for _, c := range []*metav1.Condition{&ready, &progressing} {
			c.Status, c.Reason, c.Message = metav1.ConditionFalse, r.refusal().Reason, r.refusal().Message
		}
	}

	suspended := metav1.Condition{
		Type: v1alpha1.ConditionSuspended, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonNotSuspended, Message: "spec.suspend is false",
	}
	if r.Suspended {
		suspended.Status, suspended.Reason = metav1.ConditionTrue, v1alpha1.ReasonSuspended
		suspended.Message = "spec.suspend is true: no more pods are released"
		if r.Override.Suspend {
			suspended.Message = "annotation " + v1alpha1.SuspendAnnotation + " is true: no more pods are released"
		}
		if progressing.Status == metav1.ConditionTrue {
			progressing.Status, progressing.Reason, progressing.Message = metav1.ConditionFalse, suspended.Reason, suspended.Message
		}
	}
	return []metav1.Condition{ready, progressing, degraded, suspended}
}

// unready is why not every group is satisfied at this moment; empty if every group is.
func (r Report) unready() (reason, message string) {
	if r.PerNode {
		if !r.Completed() {
			return r.waiting()
		}
		return "", ""
	}
	for i, g := range r.Groups {
		if !g.Satisfied && !g.Skipped {
			return r.waitingReason(i), r.waitingFor(i)
		}
	}
	return "", ""
}

// waiting is what the sequence waits for to go on.
func (r Report) waiting() (reason, message string) {
	if r.PerNode {
		return r.waitingNodes()
	}
	return r.waitingReason(r.Current), r.waitingForAll()
}

func (r Report) waitingReason(i int) string {
	switch {
	case r.Groups[i].Recording:
		return v1alpha1.ReasonRecording
	case r.Groups[i].Satisfied:
		return v1alpha1.ReasonWaitDuration
	case r.Groups[i].ObjectReason != "":
		return r.Groups[i].ObjectReason
	case len(r.Groups[i].Members) == 0 && !r.Groups[i].WithoutMembers:
		return v1alpha1.ReasonWaitingForPods
	}
	return v1alpha1.ReasonGroupNotReady
}

// joined is all messages in one, cut where a condition's message must end.
func joined(problems []order.Problem) string {
	messages := make([]string, len(problems))
	for i, p := range problems {
		messages[i] = p.Message
	}
	return cutMessage(strings.Join(messages, "; "))
}

// cutMessage keeps a condition's message short.
func cutMessage(text string) string { return cut(text, 1024) }

// cut returns so many bytes of a text at most, without cutting a character, and shows that there is more.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}

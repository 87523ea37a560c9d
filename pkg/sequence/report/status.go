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

// statusWriter writes what a report says in the API's words. From the object's present status it takes only what cannot be seen in the
// world any more: when groups were released and passed, and when conditions last changed.
type statusWriter struct {
	Report
	object *v1alpha1.PodSequence
	now    time.Time
}

func (w statusWriter) status() v1alpha1.PodSequenceStatus {
	status := v1alpha1.PodSequenceStatus{
		ObservedGeneration: w.Generation,
		ObservedUID:        w.object.UID,
		Phase:              w.phase(),
		State:              w.state().String(),
		EnforcementMode:    v1alpha1.BootstrapOnly,
		CurrentIndex:       ptr.To(int32(w.Current)),
		Groups:             w.groupStatuses(),
		Passes:             w.passes(),
		Failures:           w.Failures,
		Conditions:         conditionWriter(w).conditions(),
	}
	if w.Continuous {
		status.EnforcementMode = v1alpha1.Continuous
	}
	if w.PerNode {
		w.describeNodes(&status)
	} else {
		w.describePods(&status)
	}
	switch {
	case w.Refused:
		status.Message = w.refusal().Message
	case w.Suspended:
		status.Message += " (suspended)"
	}
	w.describeDryRun(&status)
	w.describeOutOfOrder(&status)
	status.DegradedReasons = w.degradedReasons()
	status.Memory = w.memory(status.Groups)
	status.Message = printable.Line(status.Message)
	return status
}

// describePods fills in the lists and lines for people.
func (w statusWriter) describePods(status *v1alpha1.PodSequenceStatus) {
	var processed []string
	for _, g := range w.Groups {
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
	if w.Completed() {
		status.CurrentGroup = "-"
		status.ReadyPods = w.readyOfAll()
		status.Message = w.all("passed")
	} else {
		g := w.Groups[w.Current]
		status.CurrentGroup = w.currentGroup()
		status.ReadyPods = fmt.Sprintf("%d/%d", g.Ready, g.Expected)
		status.CurrentGroupPods = list(g.Members)
		status.ReadyPodsInCurrentGroup = int32(len(g.ReadyMembers))
		status.Message = w.waitingForAll()
		if failure := w.failure(); failure != nil {
			status.Message = cutMessage(failure.Message)
		}
	}
	if cut > v1alpha1.MaxListedPods {
		status.Message += fmt.Sprintf(" (lists show %d of %d pods)", v1alpha1.MaxListedPods, cut)
	}
}

func (w statusWriter) groupStatuses() []v1alpha1.GroupStatus {
	statuses := make([]v1alpha1.GroupStatus, len(w.Groups))
	objects := order.ObjectRecords(&w.object.Status)
	defer CutObjectMessages(statuses)
	for i, g := range w.Groups {
		before := order.RecordOf(&w.object.Status, g.Hash, i)
		status := v1alpha1.GroupStatus{
			Name: g.Title, Hash: g.Hash, Expected: count(g.Expected), Ready: count(g.Ready),
			Phase: w.groupPhase(i), Objects: g.recordedObjects(objects),
		}
		if w.Refused && !g.Passed {
			// Without its hash nothing is read back of it: when consent comes, the group begins anew.
			status.Hash = ""
			statuses[i] = status
			continue
		}
		if g.Satisfied && !w.PerNode {
			status.SatisfiedAt = w.known(g.SatisfiedAt)
		}
		if status.ChangedAt = before.ChangedAt; !g.EditedAt.IsZero() && (status.ChangedAt == nil || status.ChangedAt.Time.Before(g.EditedAt)) {
			status.ChangedAt = w.known(g.EditedAt)
		}
		status.ReleasedAt = before.ReleasedAt
		switch {
		case w.PerNode && i > 0: // each node has its own
		case !w.PerNode && !g.Released && !g.ReleasedBefore && !w.Refused:
			status.ReleasedAt = nil // it is held again
		case g.Released && (status.ReleasedAt == nil || (w.Continuous && !w.PerNode)):
			status.ReleasedAt = w.known(g.ReleasedAt)
		}
		if status.FirstSatisfiedAt = before.FirstSatisfiedAt; status.FirstSatisfiedAt == nil && g.SatisfiedOnce && !w.PerNode {
			status.FirstSatisfiedAt = w.known(g.SatisfiedAt)
		}
		if g.Passed {
			status.PassedAt = before.PassedAt
			if status.PassedAt == nil {
				status.PassedAt = w.known(g.PassedAt)
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
func (w statusWriter) passes() map[string]v1alpha1.GroupPass {
	if w.PerNode || w.Continuous {
		return nil
	}
	passes := map[string]v1alpha1.GroupPass{}
	for _, g := range w.Groups {
		pass, recorded := w.object.Status.Passes[g.Hash]
		switch {
		case recorded && pass.UID == w.UID:
			passes[g.Hash] = pass
		case g.Passed && w.DryRun == nil && g.Hash != "":
			passes[g.Hash] = v1alpha1.GroupPass{UID: w.UID, At: metav1.NewTime(g.PassedAt.Truncate(time.Second)), TimedOut: !g.SatisfiedOnce}
		}
	}
	if len(passes) == 0 {
		return nil
	}
	return passes
}

// count is a number as status keeps it. Workloads may ask for more pods together than its type holds.
func count(n int) int32 { return int32(min(max(n, 0), math.MaxInt32)) }

// known is the time in the API's type and whole seconds; now if it is not known.
func (w statusWriter) known(t time.Time) *metav1.Time {
	if t.IsZero() || t.After(w.now) {
		t = w.now
	}
	return ptr.To(metav1.NewTime(t.Truncate(time.Second)))
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

// describeNodes fills in what status says of nodes. It lists those that wait, and says no more of the others than how many they are.
func (w statusWriter) describeNodes(status *v1alpha1.PodSequenceStatus) {
	before := make(map[string][]metav1.Condition, len(w.object.Status.NodeStatus))
	for _, n := range w.object.Status.NodeStatus {
		before[n.NodeName] = n.Conditions
	}
	summary := v1alpha1.NodeSummary{Total: int32(len(w.Nodes))}
	waiting := make([]Node, 0, len(w.Nodes))
	for _, n := range w.Nodes {
		if n.Completed {
			summary.Completed++
		}
		if n.waits() {
			waiting = append(waiting, n)
		}
	}
	slices.SortStableFunc(waiting, func(a, b Node) int { return rank(a) - rank(b) })
	listed := waiting[:min(len(waiting), v1alpha1.MaxListedNodes)]
	room := maxNodeMessages
	for _, n := range listed {
		status.NodeStatus = append(status.NodeStatus, w.nodeStatus(n, before[n.Name], &room))
	}
	summary.Waiting = summary.Total - summary.Completed
	status.NodeSummary = &summary

	status.CurrentGroup = "-"
	if !w.Completed() && w.Current < len(w.Groups) {
		status.CurrentGroup = w.currentGroup()
	}
	status.ReadyPods = w.readyOfAll()
	status.Message = fmt.Sprintf("all %d nodes that take part are completed", summary.Total)
	if failure := w.failure(); failure != nil {
		status.Message = cutMessage(failure.Message)
	} else if !w.Completed() {
		_, status.Message = w.waitingNodes()
	}
	if len(waiting) > len(listed) {
		status.Message += fmt.Sprintf(" (%d of %d nodes that wait are listed)", len(listed), len(waiting))
	}
}

// nodeStatus describes a node. Its message takes from the room for messages, and is left out if there is none any more.
func (w statusWriter) nodeStatus(n Node, before []metav1.Condition, room *int) v1alpha1.NodeStatus {
	status := v1alpha1.NodeStatus{
		NodeName: n.Name, CurrentIndex: int32(n.Current), Phase: v1alpha1.NodeInProgress, Conditions: slices.Clone(before),
	}
	ready := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonCompleted,
		ObservedGeneration: w.Generation, LastTransitionTime: metav1.NewTime(w.now),
	}
	if n.Completed {
		status.Phase = v1alpha1.NodeCompleted
	} else {
		ready.Status, ready.Reason = metav1.ConditionFalse, v1alpha1.ReasonGroupNotReady
	}
	if g := n.Group; g != nil {
		status.ReadyPodsInCurrentGroup = int32(len(g.ReadyMembers))
		ready.Message = short(g.whole())
		if g.Satisfied {
			status.SatisfiedAt = w.known(g.SatisfiedAt)
		}
		switch {
		case g.Failure != nil:
			status.Phase = v1alpha1.NodeFailed
			ready.Reason, ready.Message = g.Failure.Reason, short(g.Failure.Message)
		case g.Satisfied:
			ready.Reason = v1alpha1.ReasonWaitDuration
		case g.ObjectReason != "":
			ready.Reason = g.ObjectReason
		}
	} else if group, any := w.firstTimedOut(n); any && !n.Completed {
		ready.Reason = v1alpha1.ReasonPodsReadyTimeout
		ready.Message = short(w.wentOn(group, n.Name))
	}
	if ready.Message = printable.Line(ready.Message); len(ready.Message) > *room {
		ready.Message = ""
	}
	*room -= len(ready.Message)
	meta.SetStatusCondition(&status.Conditions, ready)
	return status
}

// rank sorts what has failed, or timed out, before what waits, and that before what only waits for time to pass.
func rank(n Node) int {
	switch {
	case len(n.TimedOut) > 0, n.Group != nil && n.Group.Failure != nil:
		return 0
	case n.Completed:
		return 2
	}
	return 1
}

// maxNodeMessages is how long all messages of nodes may be together, in bytes.
const maxNodeMessages = 24 << 10

// short keeps the status of many nodes small.
func short(text string) string { return cut(text, 256) }

// describeDryRun fills in what status says of a dry run. Longest is written with whole seconds, and only when a pod comes or goes:
// status is not written only because time passes.
func (w statusWriter) describeDryRun(status *v1alpha1.PodSequenceStatus) {
	if w.DryRun == nil {
		return
	}
	pods, before := w.DryRun.Pods, w.object.Status.DryRun
	status.DryRun = &v1alpha1.DryRunStatus{
		HeldNow: count(len(pods)), HeldTotal: count(w.DryRun.Total), LongestSeconds: int64(w.DryRun.Longest / time.Second),
		Pods: pods[:min(len(pods), v1alpha1.MaxListedPods)],
	}
	if before != nil { // of pods that are gone, or that a restart has forgotten, only status knows
		status.DryRun.HeldTotal = max(status.DryRun.HeldTotal, before.HeldTotal)
		status.DryRun.LongestSeconds = max(status.DryRun.LongestSeconds, before.LongestSeconds)
	}
	if before != nil && before.HeldNow == status.DryRun.HeldNow && before.HeldTotal == status.DryRun.HeldTotal && slices.Equal(before.Pods, status.DryRun.Pods) {
		status.DryRun.LongestSeconds = before.LongestSeconds
	}
	if w.Suspended {
		status.Message += fmt.Sprintf(" (dry run: %d pods would be held)", len(pods))
	} else {
		status.Message += fmt.Sprintf(" (dry run: no pod is held, %d would be)", len(pods))
	}
}

// describeOutOfOrder fills in what status remembers of the pods that started out of order.
func (w statusWriter) describeOutOfOrder(status *v1alpha1.PodSequenceStatus) {
	if w.OutOfOrder == nil {
		return
	}
	pods := w.OutOfOrder.Pods
	status.StartedOutOfOrder = &v1alpha1.StartedOutOfOrderStatus{Total: count(len(pods)), Pods: pods[:min(len(pods), v1alpha1.MaxListedPods)]}
}

// memory is what the programs must find in status after a restart. It repeats what groups has for earlier releases.
func (w statusWriter) memory(groups []v1alpha1.GroupStatus) *v1alpha1.SequenceMemory {
	if !slices.ContainsFunc(groups, func(g v1alpha1.GroupStatus) bool { return g.Hash != "" }) {
		return nil
	}
	m := &v1alpha1.SequenceMemory{}
	for i, g := range groups {
		m.Groups = append(m.Groups, v1alpha1.GroupMemory{Hash: g.Hash, ChangedAt: g.ChangedAt, Completed: w.Groups[i].Completed})
		if at := w.Groups[i].LostAt; !at.IsZero() {
			m.Groups[i].LostAt = new(metav1.NewTime(at))
		}
		if at := w.Groups[i].FailuresOverAt; !at.IsZero() {
			m.Groups[i].FailuresOverAt = new(metav1.NewTime(at))
		}
	}
	return m
}

package report

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/printable"
)

// describeNodes fills in what status says of nodes. It lists those that wait, and says no more of the others than how many they are.
func (r Report) describeNodes(status *v1alpha1.PodSequenceStatus, ps *v1alpha1.PodSequence, now time.Time) {
	before := make(map[string][]metav1.Condition, len(ps.Status.NodeStatus))
	for _, n := range ps.Status.NodeStatus {
		before[n.NodeName] = n.Conditions
	}
	summary := v1alpha1.NodeSummary{Total: int32(len(r.Nodes))}
	waiting := make([]Node, 0, len(r.Nodes))
	for _, n := range r.Nodes {
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
		status.NodeStatus = append(status.NodeStatus, r.nodeStatus(n, before[n.Name], &room, now))
	}
	summary.Waiting = summary.Total - summary.Completed
	status.NodeSummary = &summary

	status.CurrentGroup = "-"
	if !r.Completed() && r.Current < len(r.Groups) {
		status.CurrentGroup = r.currentGroup()
	}
	status.ReadyPods = r.readyOfAll()
	status.Message = fmt.Sprintf("all %d nodes that take part are completed", summary.Total)
	if failure := r.failure(); failure != nil {
		status.Message = cutMessage(failure.Message)
	} else if !r.Completed() {
		_, status.Message = r.waitingNodes()
	}
	if len(waiting) > len(listed) {
		status.Message += fmt.Sprintf(" (%d of %d nodes that wait are listed)", len(listed), len(waiting))
	}
}

// stuck reports whether nothing goes on anywhere: all groups, or nodes, that are waited for have failed.
func (r Report) stuck() bool {
	if !r.PerNode {
		return !slices.ContainsFunc(r.Groups, func(g Group) bool { return g.Current && !g.Skipped && g.Failure == nil })
	}
	return r.Unbound == 0 && !slices.ContainsFunc(r.Nodes, func(n Node) bool {
		return !n.Completed && (n.Group == nil || n.Group.Failure == nil)
	})
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

// nodeStatus describes a node. Its message takes from the room for messages, and is left out if there is none any more.
func (r Report) nodeStatus(n Node, before []metav1.Condition, room *int, now time.Time) v1alpha1.NodeStatus {
	status := v1alpha1.NodeStatus{
		NodeName: n.Name, CurrentIndex: int32(n.Current), Phase: v1alpha1.NodeInProgress, Conditions: slices.Clone(before),
	}
	ready := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonCompleted,
		ObservedGeneration: r.Generation, LastTransitionTime: metav1.NewTime(now),
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
			status.SatisfiedAt = known(g.SatisfiedAt, now)
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
	} else if group, any := r.firstTimedOut(n); any && !n.Completed {
		ready.Reason = v1alpha1.ReasonPodsReadyTimeout
		ready.Message = short(r.wentOn(group, n.Name))
	}
	if ready.Message = printable.Line(ready.Message); len(ready.Message) > *room {
		ready.Message = ""
	}
	*room -= len(ready.Message)
	meta.SetStatusCondition(&status.Conditions, ready)
	return status
}

// wentOn says of which group a node did not wait any longer.
func (r Report) wentOn(group int, node string) string {
	g := r.Groups[group]
	return WentOn(Where{group, len(r.Groups), g.Title, node}).Message
}

// short keeps the status of many nodes small.
func short(text string) string { return cut(text, 256) }

// waitingNodes is what the nodes wait for.
func (r Report) waitingNodes() (reason, message string) {
	if len(r.Nodes) == 0 {
		return r.withoutObjects(v1alpha1.ReasonWaitingForPods, fmt.Sprintf("no node takes part yet; pods without a node: %d", r.Unbound))
	}
	waiting := 0
	for _, n := range r.Nodes {
		if !n.Completed {
			waiting++
		}
	}
	switch {
	case waiting == 0 && r.Unbound == 1:
		message = fmt.Sprintf("all %d nodes that take part are completed, but 1 pod has no node yet", len(r.Nodes))
	case waiting == 0 && r.Unbound > 0:
		message = fmt.Sprintf("all %d nodes that take part are completed, but %d pods have no node yet", len(r.Nodes), r.Unbound)
	default:
		message = fmt.Sprintf("waiting for %d of %d nodes", waiting, len(r.Nodes))
		if r.Unbound > 0 {
			message += fmt.Sprintf("; pods without a node: %d", r.Unbound)
		}
	}
	return r.withoutObjects(v1alpha1.ReasonGroupNotReady, message)
}

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/printable"
	"example.com/podsequence/pkg/sequence/order"
)

// Report is how far a sequence has come: what its status is written from.
type Report struct {
	UID        types.UID
	Generation int64
	// Object is the PodSequence that this reports on, as the engine last saw it: read only.
	Object *v1alpha1.PodSequence
	// Cluster is the ClusterPodSequence that this reports on: read only, and nil for a PodSequence. Object has of it what both
	// kinds have in common.
	Cluster *v1alpha1.ClusterPodSequence
	// PerNode reports that the scope is Node, and Continuous that a group is passed only while it is satisfied.
	PerNode, Continuous bool

	Suspended bool
	// Resumed reports that a suspension was lifted, as far as the engine saw.
	Resumed bool
	// Override is what annotations add to the spec.
	Override order.Override
	// Refused reports that the namespace to which the sequence points does not allow it. The first of Problems says so.
	Refused bool
	// Current is the 0-based index of the first group not passed, or the number of groups. For scope Node it is the
	// minimum over the nodes that take part.
	Current int
	// Groups are the groups in order. For scope Node their numbers are sums over all nodes and the pods that have no node yet.
	Groups []Group
	// Nodes are, for scope Node, the nodes that take part, by name.
	Nodes []Node
	// Unbound is, for scope Node, the number of members that have no node yet.
	Unbound int

	Problems []order.Problem

	// Failures are the members that failed in groups that are not passed, as status has them.
	Failures []v1alpha1.Failure

	// DryRun is what the sequence would have held; nil unless its spec has dryRun.
	DryRun *DryRun

	// OutOfOrder are the pods that started before the sequence existed, and too early; nil if there are none. The last of Problems is
	// about them.
	OutOfOrder *OutOfOrder
	// Ungoverned are the pods that nothing can hold. One of Problems is about them.
	Ungoverned []string

	// WhyUnrecorded says why recording takes long; the writer of status fills it in.
	WhyUnrecorded string
}

// Status is what the report says, in the API's words, for an object whose present status is known.
func (r Report) Status(ps *v1alpha1.PodSequence, now time.Time) v1alpha1.PodSequenceStatus {
	return statusWriter{r, ps, now}.status()
}

// Recording reports whether a pass is being recorded: in a moment, of which the engine tells as of any other change, it is.
func (r Report) Recording() bool {
	return slices.ContainsFunc(r.Groups, func(g Group) bool { return g.Recording })
}

// Group is the part of a Report on one group.
type Group struct {
	Title             string
	ContinueOnTimeout bool
	Timeout           time.Duration // 0: none
	Hash              string
	Expected, Ready   int
	Satisfied         bool
	// Recording reports that the group is to be passed, which status does not record yet.
	Recording bool
	// EditedAt is when an edit made the group what it is, or when consent of the target namespace came late; zero if neither.
	EditedAt time.Time
	// FailuresOverAt is before when failures of Jobs of the group are over; zero if none are.
	FailuresOverAt time.Time
	// LostAt is when the group was lost that was satisfied before; zero if it was not, or is again.
	LostAt time.Time
	// Completed reports that the group, of requiredStatus Complete, was passed because it was complete.
	Completed bool
	// SatisfiedOnce reports that the group was satisfied at some time since it was released.
	SatisfiedOnce bool
	// Released reports whether the group's pods may be scheduled, Passed that those after it need not wait for it any more,
	// Current that all it waits for is passed, and it is not, and Skipped that no group waits for it. Passed and Current are of
	// the whole cluster, or of one node.
	Released, Passed, Current, Skipped bool
	// ReleasedBefore reports that it is released, or had been when the sequence was suspended.
	ReleasedBefore bool
	// Awaited reports, for scope Node, that it is not passed on some node, for instance while its wait is not over.
	Awaited bool
	// ReleasedAt, SatisfiedAt and PassedAt are when that came about, by the API server's clock as far as it tells; zero
	// while it is not so, or if the time is not known.
	ReleasedAt, SatisfiedAt, PassedAt time.Time
	// Progress says in words how far the group is.
	Progress string
	// NodeTrouble says what is wrong with nodes on which the group lacks pods; empty if nothing is known to be.
	NodeTrouble string
	// Failure is why the group will not be satisfied without intervention; nil if it may.
	Failure *order.Problem
	// Members and ReadyMembers are names, sorted.
	Members, ReadyMembers []string
	// Objects are those that the group waits for. WithoutMembers reports that it waits for nothing that is a pod.
	Objects        []v1alpha1.ObjectReference
	WithoutMembers bool
	// ObjectReason is the reason of conditions while the group lacks objects, and no pods; empty otherwise.
	ObjectReason string
}

// whole says how far the group is, and what is wrong with its nodes.
func (g Group) whole() string {
	if g.NodeTrouble == "" {
		return g.Progress
	}
	return g.Progress + "; " + g.NodeTrouble
}

// recordedObjects returns what status has of the objects of a group, in the order of the spec, and without those that the spec does not
// name any more. The controller, which reads the objects, replaces it.
func (g *Group) recordedObjects(records map[v1alpha1.ObjectReference]*v1alpha1.ObjectStatus) []v1alpha1.ObjectStatus {
	var objects []v1alpha1.ObjectStatus
	for _, reference := range g.Objects {
		if record := records[reference]; record != nil {
			objects = append(objects, *record)
		}
	}
	return objects
}

// Node is how far a sequence of scope Node is on one node.
type Node struct {
	Name string
	// Current is the 0-based index of the first group not passed that has pods or a due DaemonSet there, or the number of
	// groups.
	Current int
	// Completed reports that every group that has pods or a due DaemonSet there is satisfied there.
	Completed bool
	// TimedOut are the 0-based indices of the groups that have timed out there.
	TimedOut []int32
	// Group is the current group, if there is one: its numbers are those of this node.
	Group *Group
}

// waits reports whether some group that has pods or a due DaemonSet on the node is not passed there. If all of them are ready, that is
// because a wait is not over.
func (n Node) waits() bool { return !n.Completed || n.Group != nil }

// TimedOutNodes reports the nodes that went on without a group.
func (r Report) TimedOutNodes() (order.Problem, bool) {
	var first string
	nodes := 0
	for _, n := range r.Nodes {
		group, any := r.firstTimedOut(n)
		if !any {
			continue
		}
		if nodes++; first == "" {
			first = r.wentOn(group, n.Name)
		}
	}
	if nodes > 1 {
		first += fmt.Sprintf("; the same on %d other nodes", nodes-1)
	}
	return order.Problem{Reason: v1alpha1.ReasonPodsReadyTimeout, Message: first}, nodes > 0
}

// firstTimedOut returns the first group that a node went on without because it was late. Nobody waits for one that is skipped.
func (r Report) firstTimedOut(n Node) (group int, any bool) {
	i := slices.IndexFunc(n.TimedOut, func(group int32) bool { return r.Groups[group].ContinueOnTimeout && !r.Groups[group].Skipped })
	if i < 0 {
		return 0, false
	}
	return int(n.TimedOut[i]), true
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

// waited returns the indices of the groups that others wait for now. Of a list that is at most one.
func (r Report) waited() []int {
	var waited []int
	for i, g := range r.Groups {
		if g.Current && !g.Skipped {
			waited = append(waited, i)
		}
	}
	return waited
}

// currentGroup names the current group, such as 2/3 Backend. Where several groups are under way it is the first of them, and
// the number of the others follows, such as 2/12 Database (+2).
func (r Report) currentGroup() string {
	text := fmt.Sprintf("%d/%d %s", r.Current+1, len(r.Groups), printable.Name(r.Groups[r.Current].Title))
	if others := len(r.waited()) - 1; others > 0 {
		text += fmt.Sprintf(" (+%d)", others)
	}
	return text
}

// waitingForAll says how far each group is that others wait for.
func (r Report) waitingForAll() string {
	const most = 3
	waited := r.waited()
	if len(waited) == 0 {
		return r.waitingFor(r.Current)
	}
	texts := make([]string, 0, most)
	for _, i := range waited[:min(most, len(waited))] {
		texts = append(texts, r.howFar(i))
	}
	text := "waiting for " + strings.Join(texts, "; ")
	if more := len(waited) - most; more > 0 {
		text += fmt.Sprintf("; and %d more groups", more)
	}
	return cutMessage(text)
}

// all says what all groups are but those that are skipped.
func (r Report) all(what string) string {
	text := fmt.Sprintf("all %d groups are %s", len(r.Groups), what)
	if skipped := len(r.skippedGroups()); skipped > 0 {
		text = fmt.Sprintf("all %d groups are %s, or skipped (%d of them)", len(r.Groups), what, skipped)
	}
	return text
}

// skippedGroups returns the groups that no group waits for.
func (r Report) skippedGroups() []string {
	var skipped []string
	for i, g := range r.Groups {
		if g.Skipped {
			skipped = append(skipped, Where{Index: i, Groups: len(r.Groups), Title: g.Title}.String())
		}
	}
	return skipped
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

// wentOn says of which group a node did not wait any longer.
func (r Report) wentOn(group int, node string) string {
	g := r.Groups[group]
	return WentOn(Where{group, len(r.Groups), g.Title, node}).Message
}

// lackingObjects returns the first group that others wait for and that lacks objects; -1 if none does.
func (r Report) lackingObjects() int {
	for i, g := range r.Groups {
		if g.ObjectReason != "" && !g.Skipped {
			return i
		}
	}
	return -1
}

// withoutObjects returns what waitingNodes says, and which objects are missing on all nodes.
func (r Report) withoutObjects(reason, message string) (string, string) {
	i := r.lackingObjects()
	if i < 0 {
		return reason, message
	}
	return r.Groups[i].ObjectReason, cutMessage(message + "; " + r.waitingFor(i))
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

// stalling are the reasons of problems that keep a sequence from being completed until somebody changes an object. Pods
// that cannot be held, or are named twice, keep nothing from going on.
var stalling = []string{
	v1alpha1.ReasonInvalidSpec, v1alpha1.ReasonGateNotAllowed, v1alpha1.ReasonUnsupportedScope, v1alpha1.ReasonGangSplit,
	v1alpha1.ReasonWaitsForItself,
}

func (r Report) state() State {
	return State{
		Refused: r.Refused, Suspended: r.Suspended, DryRun: r.DryRun != nil, Overridden: r.Override.IsActive(), StartedOutOfOrder: r.OutOfOrder != nil,
	}
}

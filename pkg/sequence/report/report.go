package report

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
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

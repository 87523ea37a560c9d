package inventory

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Requirement is what a group asks of each of its members.
type Requirement struct {
	Status v1alpha1.RequiredStatus
	// Condition is the type of the pod's condition that must be True, whatever the status; empty if it is the status that counts.
	Condition string
}

// IsCommon reports whether the requirement is one that CountsAs compares.
func (r Requirement) IsCommon() bool {
	return r.Condition == "" && r.Status != v1alpha1.RequireStarted
}

// Reached says whether, and since when, a pod has reached what a group requires.
type Reached struct {
	Done bool
	// At is when the pod reached it, as the API says: not before the pod was created and bound. It is zero if nobody says when.
	At Timestamp
	// Since is the same, but not before its node was created.
	Since Timestamp
	// NodeGone reports that the pod reached it and is bound to a node that does not exist. It is not Done then.
	NodeGone bool
}

// conditions are those of a pod that are True.
type conditions struct {
	types    *[]string   // shared by all pods that have the same, see Interner
	attained []Timestamp // since when, in the order of types
}

// viewAttained reads what the pod has reached that few groups ask for.
func (p *Pod) viewAttained(object *corev1.Pod) {
	reached := func(at time.Time) Timestamp {
		if !at.IsZero() {
			at = latest(at, latest(object.CreationTimestamp.Time, boundAt(object)))
		}
		return TimestampOf(at)
	}
	if object.Status.Phase == corev1.PodRunning || object.Status.Phase == corev1.PodSucceeded {
		p.hasStarted, p.started = true, reached(startedAt(object))
	}
	var types []string
	for i := range object.Status.Conditions {
		if c := &object.Status.Conditions[i]; isTrue(c) {
			types = append(types, string(c.Type))
		}
	}
	if types == nil {
		return
	}
	p.conditions = &conditions{&types, make([]Timestamp, 0, len(types))}
	for i := range object.Status.Conditions {
		if c := &object.Status.Conditions[i]; isTrue(c) {
			p.conditions.attained = append(p.conditions.attained, reached(c.LastTransitionTime.Time))
		}
	}
}

func isTrue(c *corev1.PodCondition) bool { return c.Status == corev1.ConditionTrue && c.Type != "" }

// StartedAt returns when a container last started, as far as its status says; zero if it does not say.
func StartedAt(status *corev1.ContainerStatus) time.Time {
	var at time.Time
	if s := status.State.Running; s != nil {
		at = s.StartedAt.Time
	}
	for _, s := range []*corev1.ContainerStateTerminated{status.State.Terminated, status.LastTerminationState.Terminated} {
		if s != nil {
			at = latest(at, s.StartedAt.Time)
		}
	}
	return at
}

// startedAt is when the last of the containers started that did. Of a pod that succeeded nothing may be left but when they ended.
func startedAt(p *corev1.Pod) time.Time {
	var last time.Time
	for i := range p.Status.ContainerStatuses {
		last = latest(last, StartedAt(&p.Status.ContainerStatuses[i]))
	}
	if last.IsZero() {
		return finishedAt(p)
	}
	return last
}

// Reached returns whether, and since when, the pod has what is required of it. What succeeded did its work: the end of its node does not
// take that back.
func (p *Pod) Reached(required Requirement) Reached {
	r := p.reachedAnywhere(required)
	r.NodeGone = r.Done && p.nodeGone && !p.Succeeded
	r.Done, r.Since = r.Done && !r.NodeGone, p.notBeforeNode(r.At)
	return r
}

// notBeforeNode returns the time, or when the pod's node was created, if that was later: before, the pod counted for nothing. It returns
// zero for zero.
func (p *Pod) notBeforeNode(at Timestamp) Timestamp {
	if at == 0 || p.Succeeded {
		return at
	}
	return max(at, p.nodeCreatedAt)
}

// reachedAnywhere is Reached on any node.
func (p *Pod) reachedAnywhere(required Requirement) Reached {
	switch {
	case required.Condition != "":
		return p.conditions.reached(required.Condition)
	case required.Status == v1alpha1.RequireStarted:
		return Reached{Done: p.hasStarted, At: p.started}
	case required.Status == v1alpha1.RequireComplete:
		return Reached{Done: p.Succeeded, At: p.ReadyAt}
	}
	return Reached{Done: p.Ready, At: p.ReadyAt}
}

// reached returns whether, and since when, a condition is True.
func (c *conditions) reached(condition string) Reached {
	if c == nil {
		return Reached{}
	}
	i := slices.Index(*c.types, condition)
	if i < 0 {
		return Reached{}
	}
	return Reached{Done: true, At: c.attained[i]}
}

// FollowNode notes whether the pod's node exists, and when it was created, see Reached, and shares its name. node is nil while it is not known; exists reports
// whether there may be such a node.
func (p *Pod) FollowNode(node *Node, exists bool) {
	p.nodeGone = p.Bound() && !exists
	if p.nodeCreatedAt = 0; node != nil {
		p.nodeCreatedAt, p.Node = TimestampOf(node.Object.CreationTimestamp.Time), node.Name
	}
}

// SameOnNode reports whether the same version of the pod, as it was before its node changed, has reached the same.
func (p *Pod) SameOnNode(before *Pod) bool {
	return p.nodeGone == before.nodeGone && p.nodeCreatedAt == before.nodeCreatedAt
}

// Renew takes over from another version of the pod, that counts as this one, what does not matter to any sequence or is not kept with
// what does. The pod shares what others have.
func (p *Pod) Renew(newer *Pod, shared *Interner) {
	p.ResourceVersion, p.Nominated = newer.ResourceVersion, newer.Nominated
	p.nodeGone, p.nodeCreatedAt = newer.nodeGone, newer.nodeCreatedAt
	p.hasStarted, p.started, p.conditions = newer.hasStarted, newer.started, newer.conditions
	shared.internConditions(p)
}

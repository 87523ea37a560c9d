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
	// At is when the pod reached it, as the API says: not before the pod was created and bound. It is zero if the API does not say when.
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

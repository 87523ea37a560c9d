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
	// Since is the same, but not before the pod was last seen not to have reached it.
	Since Timestamp
	// BeforeBoot reports that the pod reached it before the present boot of its node, and nobody has said so again since. It is not Done
	// then.
	BeforeBoot bool
}

// attained is what few groups ask for: that the pod has started, or a condition that is True.
type attained struct {
	condition string // empty: the pod has started
	at        Timestamp
	// not is when the pod was last seen not to have reached it, see SeenAt.
	not Timestamp
}

// viewAttained reads what the pod has reached that few groups ask for.
func viewAttained(p *corev1.Pod, failed bool) []attained {
	if failed {
		return nil // the kubelet may leave stale conditions behind
	}
	all := make([]attained, 0, len(p.Status.Conditions)+1)
	enter := func(condition string, at time.Time) {
		if !at.IsZero() {
			at = latest(at, latest(p.CreationTimestamp.Time, boundAt(p)))
		}
		all = append(all, attained{condition: condition, at: TimestampOf(at)})
	}
	if p.Status.Phase == corev1.PodRunning || p.Status.Phase == corev1.PodSucceeded {
		enter("", startedAt(p))
	}
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Status == corev1.ConditionTrue && c.Type != "" {
			enter(string(c.Type), c.LastTransitionTime.Time)
		}
	}
	return all
}

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

// seeAttained notes since when the pod has what it has reached, as SeenAt does. before is nil if no version was known.
func (p *Pod) seeAttained(before *Pod) {
	for i := range p.attained {
		a := &p.attained[i]
		switch {
		case before == nil || before.UID != p.UID:
			a.not = 0
		case before.find(a.condition) != nil:
			a.not = before.find(a.condition).not
		default:
			a.not = before.seenAt
		}
	}
}

// find returns what the pod has reached; nil if it has not.
func (p *Pod) find(condition string) *attained {
	i := slices.IndexFunc(p.attained, func(a attained) bool { return a.condition == condition })
	if i < 0 {
		return nil
	}
	return &p.attained[i]
}

// Reached returns whether, and since when, the pod has what is required of it. What succeeded did its work: no boot takes that back.
func (p *Pod) Reached(required Requirement) Reached {
	switch {
	case !required.IsCommon():
		a := p.find(required.Condition)
		if a == nil {
			return Reached{}
		}
		r := Reached{At: a.at, BeforeBoot: p.isBeforeBoot(a.at)}
		if r.Done = !r.BeforeBoot; a.at != 0 {
			r.Since = max(a.at, a.not)
		}
		return r
	case required.Status == v1alpha1.RequireComplete:
		return Reached{Done: p.Succeeded, At: p.ReadyAt, Since: p.ReadySince(), BeforeBoot: p.BeforeBoot()}
	}
	return Reached{Done: p.Ready && !p.BeforeBoot(), At: p.ReadyAt, Since: p.ReadySince(), BeforeBoot: p.BeforeBoot()}
}

// BeforeBoot reports whether the pod was ready before the present boot of its node, and has not been reported as ready since.
func (p *Pod) BeforeBoot() bool { return p.Ready && p.isBeforeBoot(p.ReadyAt) }

func (p *Pod) isBeforeBoot(at Timestamp) bool {
	return p.nodeBootedAt != 0 && !p.Succeeded && at < p.nodeBootedAt
}

// SameSinceBoot reports whether another version of the pod has reached the same, as far as the boot of its node matters.
func (p *Pod) SameSinceBoot(other *Pod) bool {
	if p.BeforeBoot() != other.BeforeBoot() || len(p.attained) != len(other.attained) {
		return false
	}
	for i := range p.attained {
		if p.isBeforeBoot(p.attained[i].at) != other.isBeforeBoot(other.attained[i].at) {
			return false
		}
	}
	return true
}

// Renew takes over from another version of the pod, that counts as this one, what does not matter to any sequence or is not kept with
// what does.
func (p *Pod) Renew(newer *Pod) {
	p.ResourceVersion, p.Nominated = newer.ResourceVersion, newer.Nominated
	p.attained, p.nodeBootedAt = newer.attained, newer.nodeBootedAt
}

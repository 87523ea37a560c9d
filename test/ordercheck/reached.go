package ordercheck

import (
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// What a group may require of its members, other than that they are ready or complete: that they have started, or a condition. Here
// each is a status of its own, so that what is said of statuses holds for all.

const conditionPrefix = "condition "

// requiredOf is what a group requires of its members.
func requiredOf(group *v1alpha1.PodGroup) v1alpha1.RequiredStatus {
	if group.RequiredCondition != "" {
		return v1alpha1.RequiredStatus(conditionPrefix + group.RequiredCondition)
	}
	return group.RequiredStatus
}

// isMark reports whether a status is one of those that podFacts has in its marks.
func isMark(reached v1alpha1.RequiredStatus) bool {
	return reached == v1alpha1.RequireStarted || strings.HasPrefix(string(reached), conditionPrefix)
}

// marks say when a pod came to what it has, other than that it is ready or has succeeded; zero if it does not say.
type marks map[v1alpha1.RequiredStatus]time.Time

func (m marks) same(other marks) bool { return maps.EqualFunc(m, other, time.Time.Equal) }

func marksOf(pod *corev1.Pod, failed bool) marks {
	m := marks{}
	if failed {
		return m // its conditions are old
	}
	if pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodSucceeded {
		var started time.Time
		for _, status := range pod.Status.ContainerStatuses {
			if status.State.Running != nil {
				started = later(started, status.State.Running.StartedAt.Time)
			}
			if status.State.Terminated != nil {
				started = later(started, status.State.Terminated.StartedAt.Time)
			}
			if status.LastTerminationState.Terminated != nil {
				started = later(started, status.LastTerminationState.Terminated.StartedAt.Time)
			}
		}
		if started.IsZero() {
			started = lastFinish(pod)
		}
		m[v1alpha1.RequireStarted] = started
	}
	for _, c := range pod.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			m[v1alpha1.RequiredStatus(conditionPrefix+string(c.Type))] = c.LastTransitionTime.Time
		}
	}
	return m
}

// reachedAt is when a pod came to what is required; zero if it does not say.
func (f *podFacts) reachedAt(reached v1alpha1.RequiredStatus) time.Time {
	if isMark(reached) {
		return f.marks[reached]
	}
	return f.readyAt
}

// told is when the pod says that it came to something; no kubelet's clock makes that earlier than its creation and its binding.
func (f *podFacts) told(reached v1alpha1.RequiredStatus) time.Time {
	at := f.reachedAt(reached)
	if at.IsZero() {
		return at
	}
	return later(at, later(f.createdAt, f.boundAt))
}

// reachedSeen is the earliest that the pod can have come to what is required.
func (p *pod) reachedSeen(reached v1alpha1.RequiredStatus) time.Time {
	if isMark(reached) {
		return p.markSeen[reached]
	}
	return p.readySeen
}

// noteMarks notes the earliest that the pod can have come to what it has now, before its facts are replaced by these.
func (p *pod) noteMarks(f *podFacts, e event) {
	seen := marks{}
	for reached, at := range f.marks {
		before, had := time.Time{}, false
		if p.podFacts.marks != nil {
			before, had = p.podFacts.marks[reached]
		}
		switch {
		case had && before.Equal(at):
			seen[reached] = p.markSeen[reached]
		case at.IsZero():
			seen[reached] = e.earliest
		default:
			seen[reached] = earlier(f.told(reached), e.earliest)
		}
	}
	p.markSeen = seen
}

// whyNoMark says in words that a pod has not what is required.
func whyNoMark(reached v1alpha1.RequiredStatus) string {
	if condition, is := strings.CutPrefix(string(reached), conditionPrefix); is {
		return "did not have condition " + condition
	}
	return "had not started"
}

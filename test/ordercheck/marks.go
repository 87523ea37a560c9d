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

// whyNoMark says in words that a pod has not what is required.
func whyNoMark(reached v1alpha1.RequiredStatus) string {
	if condition, is := strings.CutPrefix(string(reached), conditionPrefix); is {
		return "did not have condition " + condition
	}
	return "had not started"
}

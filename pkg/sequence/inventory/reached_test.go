package inventory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func TestWhatAPodHasReached(t *testing.T) {
	epoch := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }
	running := func(seconds int) corev1.ContainerState {
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at(seconds))}}
	}
	ended := func(started, finished int) corev1.ContainerState {
		s := &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(at(finished))}
		if started > 0 {
			s.StartedAt = metav1.NewTime(at(started))
		}
		return corev1.ContainerState{Terminated: s}
	}
	has := func(kind corev1.PodConditionType, seconds int) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at(seconds))}
	}
	const reachable = "example.com/Reachable"
	started, condition := Requirement{Status: v1alpha1.RequireStarted}, Requirement{Condition: reachable}
	for name, test := range map[string]struct {
		requires Requirement
		status   corev1.PodStatus
		done     bool
		at       int // 0 is not known
	}{
		"it is pending":                 {requires: started, status: corev1.PodStatus{Phase: corev1.PodPending}},
		"it runs, and nobody says when": {requires: started, status: corev1.PodStatus{Phase: corev1.PodRunning}, done: true},
		"it runs": {
			requires: started, done: true, at: 9,
			status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{State: running(9)}, {State: running(7)}}},
		},
		"a container waits to be started again": {
			requires: started, done: true, at: 7,
			status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{LastTerminationState: ended(7, 8)}}},
		},
		"it ran before it was created, as its kubelet says": {
			requires: started, done: true, at: 2,
			status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{State: running(1)}}},
		},
		"it ran before it was bound, as its kubelet says": {
			requires: started, done: true, at: 5,
			status: corev1.PodStatus{
				Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{State: running(4)}}, Conditions: []corev1.PodCondition{has(corev1.PodScheduled, 5)},
			},
		},
		"it succeeded": {
			requires: started, done: true, at: 7,
			status: corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{State: ended(7, 9)}}},
		},
		"it succeeded, and nobody says when it started": {
			requires: started, done: true, at: 9,
			status: corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{State: ended(0, 9)}}},
		},
		"it failed": {
			requires: started, status: corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{State: ended(7, 9)}}},
		},
		"its kubelet ended it": {
			requires: started, status: corev1.PodStatus{Phase: corev1.PodSucceeded, Conditions: []corev1.PodCondition{
				{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet},
			}},
		},
		"it started again": {
			requires: started, done: true, at: 10,
			status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{State: running(10), LastTerminationState: ended(7, 8)}}},
		},
		"it has the condition": {
			requires: condition, done: true, at: 6, status: corev1.PodStatus{Conditions: []corev1.PodCondition{has(corev1.PodReady, 4), has(reachable, 6)}},
		},
		"it has the condition, and nobody says since when": {
			requires: condition, done: true,
			status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: reachable, Status: corev1.ConditionTrue}}},
		},
		"it is ready": {
			requires: condition, status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{has(corev1.PodReady, 4)}},
		},
		"the condition is False": {
			requires: condition,
			status:   corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: reachable, Status: corev1.ConditionFalse}}},
		},
		"it failed, and has the condition": {
			requires: condition, status: corev1.PodStatus{Phase: corev1.PodFailed, Conditions: []corev1.PodCondition{has(reachable, 6)}},
		},
		"Ready, of a pod that succeeded": {
			requires: Requirement{Condition: "Ready"},
			status:   corev1.PodStatus{Phase: corev1.PodSucceeded, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "uid", CreationTimestamp: metav1.NewTime(at(2))}, Spec: corev1.PodSpec{NodeName: "n"}, Status: test.status}
			view := ViewPod(pod)
			view.SeenAt(at(20), nil)
			got := view.Reached(test.requires)
			assert.Equal(t, test.done, got.Done)
			if test.done {
				want := time.Time{}
				if test.at > 0 {
					want = at(test.at)
				}
				assert.True(t, want.Equal(got.Since.Time()), "%s, want %s", got.Since.Time(), want)
			}
		})
	}
}

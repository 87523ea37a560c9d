package inventory

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestATimestampIsTheTimeOfTheAPI(t *testing.T) {
	for name, test := range map[string]struct{ time, want time.Time }{
		"none":                     {},
		"a second":                 {time: time.Unix(1_800_000_000, 0)},
		"a clock that was not set": {time: time.Unix(0, 0), want: time.Unix(1, 0)},
		"the last year":            {time: time.Date(2105, 12, 31, 23, 59, 59, 0, time.UTC)},
		"before the zero time":     {time: time.Unix(math.MinInt32*1_000_000, 0), want: time.Unix(1, 0)},
		"after the last year":      {time: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), want: time.Date(2106, 1, 1, 0, 0, 0, 0, time.UTC)},
		"less than a second":       {time: time.Unix(1_800_000_000, 1), want: time.Unix(1_800_000_000, 0)},
		"a time in another region": {time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))},
	} {
		t.Run(name, func(t *testing.T) {
			want := test.want
			if want.IsZero() {
				want = test.time
			}
			got := TimestampOf(test.time).Time()
			assert.True(t, want.Equal(got), "%s, want %s", got, want)
			assert.Equal(t, want.IsZero(), got.IsZero())
			assert.Equal(t, TimestampOf(test.time), TimestampOf(got))
		})
	}
}

func TestAPodCrashesWhoseContainerIsRestartedAgainAndAgain(t *testing.T) {
	start := metav1.NewTime(time.Unix(1_700_000_000, 0))
	later := metav1.NewTime(start.Add(time.Hour))
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: start}}
	crashed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	for name, tc := range map[string]struct {
		container corev1.ContainerStatus
		ready     corev1.PodCondition
		crashing  bool
	}{
		"the kubelet waits before it restarts it": {
			container: corev1.ContainerStatus{RestartCount: 1, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}},
			crashing:  true,
		},
		"it runs between two crashes": {
			container: corev1.ContainerStatus{RestartCount: 2, State: running, LastTerminationState: crashed},
			ready:     corev1.PodCondition{Status: corev1.ConditionFalse, LastTransitionTime: start}, crashing: true,
		},
		"it runs between two crashes and counts as ready, for it has no probe": {
			container: corev1.ContainerStatus{RestartCount: 2, State: running, LastTerminationState: crashed},
			ready:     corev1.PodCondition{Status: corev1.ConditionTrue, LastTransitionTime: start}, crashing: true,
		},
		"it crashed for the third time": {
			container: corev1.ContainerStatus{RestartCount: 2, State: crashed, LastTerminationState: crashed},
			ready:     corev1.PodCondition{Status: corev1.ConditionFalse, LastTransitionTime: later}, crashing: true,
		},
		"it crashed once": {container: corev1.ContainerStatus{RestartCount: 1, State: running, LastTerminationState: crashed}},
		"it crashed long ago, and its probe fails now": {
			container: corev1.ContainerStatus{RestartCount: 2, State: running, LastTerminationState: crashed},
			ready:     corev1.PodCondition{Status: corev1.ConditionFalse, LastTransitionTime: later},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.ready.Type = corev1.PodReady
			pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{tc.container}, Conditions: []corev1.PodCondition{tc.ready}}}
			assert.Equal(t, tc.crashing, ViewPod(pod).Crashing)
		})
	}
}

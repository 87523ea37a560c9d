package main_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/tools/sandbox/controlplane/stages"
)

const (
	readyAfter    = "sandbox.podsequence.example.com/ready-after"
	completeAfter = "sandbox.podsequence.example.com/complete-after"
	failAfter     = "sandbox.podsequence.example.com/fail-after"
	crashAfter    = "sandbox.podsequence.example.com/crash-after"
	crashTimes    = "sandbox.podsequence.example.com/crash-times"
	restartAfter  = "sandbox.podsequence.example.com/restart-after"
	rejected      = "sandbox.podsequence.example.com/rejected"
	goneAfter     = "sandbox.podsequence.example.com/gone-after"
	clock         = "sandbox.podsequence.example.com/clock"
	kwokDelay     = "pod-complete.stage.kwok.x-k8s.io/delay"
)

// anHourAgo is the start of pods whose annotations have all fallen due.
const anHourAgo = -time.Hour

func TestNextStageOfPod(t *testing.T) {
	began := time.Now()
	tests := map[string]struct {
		pod       corev1.Pod
		wantStage string
		wantDelay time.Duration
	}{
		"a bound pod runs at once": {
			pod:       corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending}},
			wantStage: "pod-start",
		},
		"a bound pod runs before it ends": {
			pod: annotated(corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending}},
				completeAfter, "0s", failAfter, "0s", readyAfter, "never"),
			wantStage: "pod-start",
		},
		"a running pod becomes ready after a second": {
			pod:       running(0),
			wantStage: "pod-ready",
			wantDelay: time.Second,
		},
		"a running pod becomes ready when its annotation says": {
			pod:       annotated(running(0), readyAfter, "1m30s"),
			wantStage: "pod-ready",
			wantDelay: 90 * time.Second,
		},
		"time that has passed since the start is taken off": {
			pod:       annotated(running(-time.Minute), readyAfter, "1m30s"),
			wantStage: "pod-ready",
			wantDelay: 30500 * time.Millisecond, // half a second of which allows for the start's missing fraction
		},
		"a pod that is never ready stays as it is": {
			pod: annotated(running(0), readyAfter, "never"),
		},
		"a ready pod stays as it is": {
			pod: ready(0),
		},
		"a ready pod becomes unready if told to": {
			pod:       annotated(ready(anHourAgo), readyAfter, "never"),
			wantStage: "pod-unready",
		},
		"a ready pod completes": {
			pod:       annotated(ready(0), completeAfter, "5s"),
			wantStage: "pod-complete",
			wantDelay: 5 * time.Second,
		},
		"a ready pod fails": {
			pod:       annotated(ready(0), failAfter, "5s"),
			wantStage: "pod-fail",
			wantDelay: 5 * time.Second,
		},
		"a pod becomes ready before it completes": {
			pod:       annotated(running(0), readyAfter, "4s", completeAfter, "5s"),
			wantStage: "pod-ready",
			wantDelay: 4 * time.Second,
		},
		"a pod that completes early is never ready": {
			pod:       annotated(running(0), readyAfter, "5s", completeAfter, "4s"),
			wantStage: "pod-complete",
			wantDelay: 4 * time.Second,
		},
		"a pod that fails before the default time is never ready": {
			pod:       annotated(running(0), failAfter, "500ms"),
			wantStage: "pod-fail",
			wantDelay: 500 * time.Millisecond,
		},
		"a pod that is never ready fails": {
			pod:       annotated(running(0), readyAfter, "never", failAfter, "1m"),
			wantStage: "pod-fail",
			wantDelay: time.Minute,
		},
		"a pod that is never ready completes": {
			pod:       annotated(running(0), readyAfter, "never", completeAfter, "1m"),
			wantStage: "pod-complete",
			wantDelay: time.Minute,
		},
		"failing takes precedence": {
			pod:       annotated(ready(0), failAfter, "1m", completeAfter, "5s"),
			wantStage: "pod-fail",
			wantDelay: time.Minute,
		},
		"a pod of a Job becomes ready before it completes": {
			pod:       ofJob(running(0)),
			wantStage: "pod-ready",
			wantDelay: time.Second,
		},
		"a pod of a Job completes two seconds after its start": {
			pod:       ofJob(ready(0)),
			wantStage: "pod-complete",
			wantDelay: 2 * time.Second,
		},
		"a pod of a Job that is never ready completes all the same": {
			pod:       ofJob(annotated(running(0), readyAfter, "never")),
			wantStage: "pod-complete",
			wantDelay: 2 * time.Second,
		},
		"a pod of a Job completes when its annotation says": {
			pod:       ofJob(annotated(ready(0), completeAfter, "30s")),
			wantStage: "pod-complete",
			wantDelay: 30 * time.Second,
		},
		"a pod of a Job completes when KWOK's annotation says": {
			pod:       ofJob(annotated(ready(0), kwokDelay, "30s")),
			wantStage: "pod-complete",
			wantDelay: 30 * time.Second,
		},
		"the sandbox's annotation takes precedence over KWOK's": {
			pod:       ofJob(annotated(ready(0), kwokDelay, "30s", completeAfter, "5s")),
			wantStage: "pod-complete",
			wantDelay: 5 * time.Second,
		},
		"a pod of a Job that never completes stays as it is": {
			pod: ofJob(annotated(ready(0), completeAfter, "never")),
		},
		"a pod of a Job fails when its annotation says": {
			pod:       ofJob(annotated(ready(0), failAfter, "30s")),
			wantStage: "pod-fail",
			wantDelay: 30 * time.Second,
		},
		"a pod of a Job of another API group stays as it is": {
			pod: owned(ready(0), "batch.volcano.sh/v1alpha1", "Job"),
		},
		"a pod of a ReplicaSet stays as it is": {
			pod: owned(ready(0), "apps/v1", "ReplicaSet"),
		},
		"KWOK's annotation means nothing to a pod that is of no Job": {
			pod: annotated(ready(0), kwokDelay, "30s"),
		},
		"a pod that has succeeded stays as it is": {
			pod: annotated(ended(corev1.PodSucceeded), completeAfter, "5s"),
		},
		"a pod that has failed stays as it is": {
			pod: annotated(ended(corev1.PodFailed), failAfter, "5s"),
		},
		"a bound pod that the kubelet does not admit fails": {
			pod:       annotated(corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending}}, rejected, "OutOfcpu"),
			wantStage: "pod-reject",
		},
		"a ready pod crashes": {
			pod:       annotated(started(ready(0), 0), crashAfter, "3s"),
			wantStage: "pod-crash",
			wantDelay: 3 * time.Second,
		},
		"a pod becomes ready before it crashes": {
			pod:       annotated(started(running(0), 0), readyAfter, "1s", crashAfter, "3s"),
			wantStage: "pod-ready",
			wantDelay: time.Second,
		},
		"a pod that crashes early is never ready": {
			pod:       annotated(started(running(0), 0), readyAfter, "3s", crashAfter, "1s"),
			wantStage: "pod-crash",
			wantDelay: time.Second,
		},
		"a container that crashed restarts after a second": {
			pod:       annotated(crashed(anHourAgo, 0), crashAfter, "3s"),
			wantStage: "pod-restart",
			wantDelay: time.Second,
		},
		"a container that crashed restarts when its annotation says": {
			pod:       annotated(crashed(anHourAgo, 0), crashAfter, "3s", restartAfter, "10s"),
			wantStage: "pod-restart",
			wantDelay: 10 * time.Second,
		},
		"a container that crashed restarts although it is not to crash again": {
			pod:       crashed(anHourAgo, 0),
			wantStage: "pod-restart",
			wantDelay: time.Second,
		},
		"readiness counts from the restart": {
			pod:       annotated(started(running(anHourAgo), 0), readyAfter, "2s", crashAfter, "1m"),
			wantStage: "pod-ready",
			wantDelay: 2 * time.Second,
		},
		"crashes count from the restart": {
			pod:       annotated(started(ready(anHourAgo), 0), crashAfter, "3s"),
			wantStage: "pod-crash",
			wantDelay: 3 * time.Second,
		},
		"a restart without back-off is not seen on a ready pod": {
			pod:       annotated(started(ready(anHourAgo), 0), crashAfter, "3s", restartAfter, "0s"),
			wantStage: "pod-restart-unseen",
			wantDelay: 3 * time.Second,
		},
		"a restart without back-off is seen on a pod that is not ready": {
			pod:       annotated(started(running(anHourAgo), 0), readyAfter, "never", crashAfter, "3s", restartAfter, "0s"),
			wantStage: "pod-crash",
			wantDelay: 3 * time.Second,
		},
		"a pod that crashes fails when its time has come": {
			pod:       annotated(started(ready(0), 0), crashAfter, "1m", failAfter, "5s"),
			wantStage: "pod-fail",
			wantDelay: 5 * time.Second,
		},
		"a pod that restarts nothing does not crash": {
			pod: annotated(restartsNothing(started(ready(0), 0)), crashAfter, "3s"),
		},
		"a pod crashes as often as its annotation says": {
			pod:       annotated(restarted(started(ready(0), 0), 1), crashAfter, "3s", crashTimes, "2"),
			wantStage: "pod-crash",
			wantDelay: 3 * time.Second,
		},
		"a pod does not crash once more than its annotation says": {
			pod: annotated(restarted(started(ready(0), 0), 2), crashAfter, "3s", crashTimes, "2"),
		},
		"a kubelet whose clock is ahead is not late": {
			pod:       annotated(running(time.Hour), readyAfter, "30s", clock, "1h"),
			wantStage: "pod-ready",
			wantDelay: 30 * time.Second,
		},
		"a kubelet whose clock is behind is not early": {
			pod:       annotated(running(anHourAgo), readyAfter, "30s", clock, "-1h"),
			wantStage: "pod-ready",
			wantDelay: 30 * time.Second,
		},
		"a deleted pod goes whatever it was about to do": {
			pod:       deleted(annotated(running(0), readyAfter, "1m", failAfter, "2m")),
			wantStage: "pod-delete",
		},
		"a deleted pod goes when its annotation says": {
			pod:       deleted(annotated(ready(0), goneAfter, "3s")),
			wantStage: "pod-delete",
			wantDelay: 3 * time.Second,
		},
		"a deleted pod that a finalizer keeps ends first": {
			pod:       kept(deleted(annotated(ready(0), readyAfter, "1m", failAfter, "2m"))),
			wantStage: "pod-end",
		},
		"a deleted pod that a finalizer keeps ends when its annotation says": {
			pod:       kept(deleted(annotated(ready(0), goneAfter, "3s"))),
			wantStage: "pod-end",
			wantDelay: 3 * time.Second,
		},
		"a deleted pod that a finalizer keeps ends before it runs": {
			pod:       kept(deleted(corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending}})),
			wantStage: "pod-end",
		},
		"a deleted pod that has ended goes at once": {
			pod:       kept(deleted(annotated(ended(corev1.PodFailed), goneAfter, "3s"))),
			wantStage: "pod-delete",
		},
		"a deleted pod goes before it runs": {
			pod:       deleted(corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending}}),
			wantStage: "pod-delete",
		},
		"a deleted pod goes after it has ended": {
			pod:       deleted(ended(corev1.PodSucceeded)),
			wantStage: "pod-delete",
		},
	}

	stages := loadStages(t, "Pod")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			event := &lifecycle.Event{Labels: tt.pod.Labels, Annotations: tt.pod.Annotations, Data: &tt.pod}
			possible, err := stages.ListAllPossible(t.Context(), event)
			require.NoError(t, err)
			if tt.wantStage == "" {
				assert.Empty(t, possible)
				return
			}
			require.Len(t, possible, 1, "KWOK would choose among several at random")
			assert.Equal(t, tt.wantStage, possible[0].Name())

			delay, _, err := possible[0].Delay(t.Context(), event, time.Now())
			require.NoError(t, err)
			const rounding = 600 * time.Millisecond
			assert.LessOrEqual(t, delay, tt.wantDelay+rounding)
			assert.GreaterOrEqual(t, delay+time.Since(began), tt.wantDelay-rounding, "what has passed since the pod was made is taken off, too")
		})
	}
}

// kept is a pod that a finalizer keeps, as it does the pods of Jobs.
func kept(pod corev1.Pod) corev1.Pod {
	pod.Finalizers = []string{"batch.kubernetes.io/job-tracking"}
	return pod
}

func loadStages(t *testing.T, kind string) lifecycle.Lifecycle {
	t.Helper()
	documents, err := stages.Documents(time.Hour)
	require.NoError(t, err)
	var internal []*internalversion.Stage
	for _, document := range documents {
		var stage v1alpha1.Stage
		require.NoError(t, yaml.UnmarshalStrict([]byte(document), &stage), document)
		if stage.Spec.ResourceRef.Kind != kind {
			continue
		}
		converted, err := internalversion.ConvertToInternalStage(&stage)
		require.NoError(t, err)
		internal = append(internal, converted)
	}
	loaded, err := lifecycle.NewLifecycle(internal)
	require.NoError(t, err)
	return loaded
}

// running is a pod that started so long from now and is not ready.
func running(started time.Duration) corev1.Pod {
	return withReadiness(started, corev1.ConditionFalse)
}

// ready is a pod that started so long from now and is ready.
func ready(started time.Duration) corev1.Pod {
	return withReadiness(started, corev1.ConditionTrue)
}

func withReadiness(started time.Duration, status corev1.ConditionStatus) corev1.Pod {
	start := metav1.NewTime(time.Now().Add(started))
	return corev1.Pod{Status: corev1.PodStatus{
		Phase:     corev1.PodRunning,
		StartTime: &start,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			{Type: corev1.PodReady, Status: status},
		},
	}}
}

// started is the pod with a container that started so long from now.
func started(pod corev1.Pod, from time.Duration) corev1.Pod {
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
		Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now().Add(from))},
	}}}
	return pod
}

// crashed is a running pod whose container ended so long from now.
func crashed(began, ended time.Duration) corev1.Pod {
	pod := running(began)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name:  "main",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 1, StartedAt: *pod.Status.StartTime, FinishedAt: metav1.NewTime(time.Now().Add(ended)),
		}},
	}}
	return pod
}

func restarted(pod corev1.Pod, times int32) corev1.Pod {
	pod.Status.ContainerStatuses[0].RestartCount = times
	return pod
}

func restartsNothing(pod corev1.Pod) corev1.Pod {
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	return pod
}

func ended(phase corev1.PodPhase) corev1.Pod {
	pod := running(anHourAgo)
	pod.Status.Phase = phase
	return pod
}

func ofJob(pod corev1.Pod) corev1.Pod { return owned(pod, "batch/v1", "Job") }

func owned(pod corev1.Pod, apiVersion, kind string) corev1.Pod {
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "owner", UID: "uid", Controller: new(true)}}
	return pod
}

func deleted(pod corev1.Pod) corev1.Pod {
	now := metav1.Now()
	pod.DeletionTimestamp = &now
	return pod
}

// annotated takes keys and values in turn.
func annotated(pod corev1.Pod, pairs ...string) corev1.Pod {
	pod.Annotations = map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		pod.Annotations[pairs[i]] = pairs[i+1]
	}
	return pod
}

func TestNextStageOfNode(t *testing.T) {
	with := func(conditions ...corev1.NodeCondition) corev1.Node {
		return corev1.Node{Status: corev1.NodeStatus{Conditions: conditions}}
	}
	for name, test := range map[string]struct {
		node      corev1.Node
		wantStage string
	}{
		"a new node becomes ready": {
			with(), "node-ready",
		},
		"a node that is taken for lost becomes ready again": {
			with(corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}), "node-ready",
		},
		"a ready node reports": {
			with(corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}), "node-heartbeat",
		},
	} {
		t.Run(name, func(t *testing.T) {
			possible, err := loadStages(t, "Node").ListAllPossible(t.Context(), &lifecycle.Event{Data: &test.node})
			require.NoError(t, err)
			require.Len(t, possible, 1)
			assert.Equal(t, test.wantStage, possible[0].Name())
		})
	}
}

package podtrouble

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func waits(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func ended(code int32, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}
}

func bound(states ...corev1.ContainerState) *corev1.Pod {
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "node"}}
	for _, state := range states {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: "load", State: state})
	}
	return pod
}

func TestOf(t *testing.T) {
	const notFound = `failed to pull and unpack image "example.com/nope:1": not found`
	with := func(pod *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
		change(pod)
		return pod
	}
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"a pod of which nothing is known":     {bound(), ""},
		"a pod that runs":                     {bound(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}), ""},
		"a pod that is being created":         {bound(waits("ContainerCreating", "")), ""},
		"a container that has done its work":  {bound(ended(0, "Completed")), ""},
		"an image that cannot be pulled":      {bound(waits("ErrImagePull", notFound)), `container "load" waits: ImagePullBackOff: ` + notFound},
		"the same image, while kubelet waits": {bound(waits("ImagePullBackOff", `Back-off pulling image "example.com/nope:1": ErrImagePull: `+notFound)), `container "load" waits: ImagePullBackOff: ` + notFound},
		"an older kubelet that waits":         {bound(waits("ImagePullBackOff", `Back-off pulling image "x"`)), `container "load" waits: ImagePullBackOff: Back-off pulling image "x"`},
		"a Secret that does not exist":        {bound(waits("CreateContainerConfigError", `secret "s" not found`)), `container "load" waits: CreateContainerConfigError: secret "s" not found`},
		"the second container":                {bound(corev1.ContainerState{}, ended(3, "Error")), `container "load" ended with exit code 3 (Error)`},
		"a container that crashes again and again": {
			with(bound(waits("CrashLoopBackOff", "back-off 40s restarting failed container")), func(pod *corev1.Pod) {
				pod.Status.ContainerStatuses[0].LastTerminationState = ended(137, "OOMKilled")
			}), `container "load" waits: CrashLoopBackOff, it ended with exit code 137 (OOMKilled)`,
		},
		"an init container": {
			with(bound(waits("PodInitializing", "")), func(pod *corev1.Pod) {
				pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "fetch", State: waits("InvalidImageName", "")}}
			}), `container "fetch" waits: InvalidImageName`,
		},
		"a pod that fits nowhere": {
			&corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/2 nodes are available"},
			}}}, "is not scheduled (Unschedulable): 0/2 nodes are available",
		},
		"a pod that nobody has looked at": {&corev1.Pod{}, ""},
		"a pod that kubelet rejected": {
			with(bound(), func(pod *corev1.Pod) {
				pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "UnexpectedAdmissionError", Message: "Pod was rejected: no\ndevices"}
			}), "failed (UnexpectedAdmissionError): Pod was rejected: no devices",
		},
		"a pod that failed by itself": {
			with(bound(ended(0, "Completed"), ended(137, "OOMKilled")), func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }),
			`failed: container "load" ended with exit code 137 (OOMKilled)`,
		},
		"a pod that failed, and nobody says why": {with(bound(), func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }), "failed"},
		"a pod that is being deleted": {
			with(bound(ended(137, "Error")), func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{} }), "",
		},
		"a pod that has succeeded": {with(bound(ended(1, "Error")), func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, Of(tc.pod))
		})
	}
	assert.Less(t, len(Of(bound(waits("CreateContainerError", strings.Repeat("é", 5000))))), 300, "it is cut")
}

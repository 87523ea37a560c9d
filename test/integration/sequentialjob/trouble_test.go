package sequentialjob

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
)

const notFound = `failed to pull and unpack image "example.com/step": not found`

// kubeletSays writes the state of the container of a step, as its kubelet does.
func (s *story) kubeletSays(name string, step int, phase corev1.PodPhase, state corev1.ContainerState) {
	s.Helper()
	pod := s.pods(name, step)[0]
	before := pod.DeepCopy()
	pod.Status.Phase = phase
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: state}}
	require.NoError(s, s.API.Status().Patch(s.Ctx, &pod, client.MergeFrom(before)))
}

func waits(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func (s *story) awaitMessage(name, part string) *v1alpha1.SequentialJob {
	s.Helper()
	var object *v1alpha1.SequentialJob
	s.Await("the message to have "+part, func() bool {
		object = s.get(name)
		return strings.Contains(object.Status.Message, part)
	})
	return object
}

func TestStatusSaysThatAnImageCannotBePulled(t *testing.T) {
	s := newStory(t)
	s.Create(s.steps("etl", 2))
	s.awaitRunning("etl", 0)
	s.kubeletSays("etl", 0, corev1.PodPending, waits("ErrImagePull", notFound))
	object := s.awaitMessage("etl", `container "step-0" waits: ImagePullBackOff: `+notFound)
	assert.Equal(t, v1alpha1.PhaseRunning, object.Status.Phase)
	assert.Contains(t, object.Status.Message, "pod "+s.pods("etl", 0)[0].Name)
	s.expectCondition(object, v1alpha1.ConditionProgressing, v1alpha1.ReasonJobStarted)

	s.kubeletSays("etl", 0, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	s.Await("the trouble to be forgotten", func() bool { return !strings.Contains(s.get("etl").Status.Message, "ImagePullBackOff") })
	s.kubeletSays("etl", 0, corev1.PodSucceeded, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}})
	assert.NotContains(t, s.awaitMessage("etl", "step 2/2").Status.Message, "pod ")
}

func TestStatusSaysWhyAPodHasNoNode(t *testing.T) {
	s := newStory(t)
	object := s.steps("etl", 1)
	object.Spec.Template.Spec.NodeSelector = map[string]string{"example.com/nowhere": "true"}
	s.Create(object)
	s.awaitMessage("etl", "is not scheduled (Unschedulable): 0/")
}

func TestAFailureSaysWhatThePodSaid(t *testing.T) {
	s := newStory(t)
	s.Create(s.steps("etl", 2))
	s.awaitRunning("etl", 0)
	pod := s.pods("etl", 0)[0].Name
	s.kubeletSays("etl", 0, corev1.PodFailed, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}})
	object := s.awaitPhase("etl", v1alpha1.PhaseFailed)
	assert.Contains(t, object.Status.Message, "BackoffLimitExceeded")
	assert.Contains(t, object.Status.Message, "; pod "+pod+` failed: container "step-0" ended with exit code 137 (OOMKilled)`)
}

// The Job controller deletes the pods of a Job whose deadline is over.
func TestADeadlineSaysWhatThePodWaitedFor(t *testing.T) {
	s := newStory(t)
	object := s.steps("etl", 2)
	object.Spec.ActiveDeadlineSeconds = ptr.To[int64](8)
	s.Create(object)
	s.awaitRunning("etl", 0)
	s.kubeletSays("etl", 0, corev1.PodPending, waits("CreateContainerConfigError", `secret "s" not found`))
	s.awaitMessage("etl", "CreateContainerConfigError")
	object = s.awaitPhase("etl", v1alpha1.PhaseFailed)
	assert.Equal(t, v1alpha1.ReasonDeadlineExceeded, object.Status.Progress.FailureReason)
	assert.Contains(t, object.Status.Message, `container "step-0" waits: CreateContainerConfigError: secret "s" not found`)
}

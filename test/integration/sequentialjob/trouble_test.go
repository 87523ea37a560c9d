package sequentialjob

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
)

const notFound = `failed to pull and unpack image "example.com/step": not found`

// onOwnNode gives the pods of an object a node whose kubelet is the test: it says all of their states.
func (s *story) onOwnNode(object *v1alpha1.SequentialJob) {
	s.Helper()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace, Labels: map[string]string{"example.com/of-test": s.Namespace}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "example.com/of-test", Effect: corev1.TaintEffectNoSchedule}}},
	}
	s.Create(node)
	s.Cleanup(func() { assert.NoError(s, s.API.Delete(context.Background(), node)) })
	before := node.DeepCopy()
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	require.NoError(s, s.API.Status().Patch(s.Ctx, node, client.MergeFrom(before)))
	object.Spec.Template.Spec.NodeSelector = node.Labels
	object.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
}

func (s *story) awaitBound(name string, step int) {
	s.Helper()
	s.Await("its pod to be bound", func() bool {
		pods := s.pods(name, step)
		return len(pods) == 1 && pods[0].Spec.NodeName != ""
	})
}

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
	object := s.steps("etl", 2)
	s.onOwnNode(object)
	s.Create(object)
	s.awaitBound("etl", 0)
	s.kubeletSays("etl", 0, corev1.PodPending, waits("ErrImagePull", notFound))
	object = s.awaitMessage("etl", `container "step-0" waits: ImagePullBackOff: `+notFound)
	assert.Equal(t, v1alpha1.PhasePending, object.Status.Phase)
	assert.Contains(t, object.Status.Message, "pod "+s.pods("etl", 0)[0].Name)
	s.expectCondition(object, v1alpha1.ConditionProgressing, v1alpha1.ReasonPodPending)

	s.kubeletSays("etl", 0, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	assert.NotContains(t, s.awaitPhase("etl", v1alpha1.PhaseRunning).Status.Message, "ImagePullBackOff")
	s.kubeletSays("etl", 0, corev1.PodSucceeded, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}})
	assert.NotContains(t, s.awaitMessage("etl", "step 2/2").Status.Message, "pod ")
}

func TestStatusSaysWhyAPodHasNoNode(t *testing.T) {
	s := newStory(t)
	object := s.steps("etl", 1)
	object.Spec.Template.Spec.NodeSelector = map[string]string{"example.com/nowhere": "true"}
	s.Create(object)
	object = s.awaitMessage("etl", "is not scheduled (Unschedulable): 0/")
	assert.Equal(t, v1alpha1.PhasePending, object.Status.Phase)
	since := s.pods("etl", 0)[0].CreationTimestamp.UTC().Format(time.RFC3339)
	assert.Contains(t, object.Status.Message, `step 1/1 "step-0" waits in Job etl-0 since `+since+": pod etl-0-")
}

func TestStatusSaysThatAJobHasNoPod(t *testing.T) {
	s := newStory(t)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	}
	s.Create(quota)
	s.Await("the quota to hold", func() bool {
		require.NoError(t, s.API.Get(s.Ctx, s.Key("pods"), quota))
		return len(quota.Status.Used) > 0
	})
	s.Create(s.steps("etl", 1))
	object := s.awaitMessage("etl", "it has no pod, by a quota for instance: kubectl describe job/etl-0 -n "+s.Namespace)
	assert.Equal(t, v1alpha1.PhasePending, object.Status.Phase)
	s.expectCondition(object, v1alpha1.ConditionProgressing, v1alpha1.ReasonPodPending)

	require.NoError(t, s.API.Delete(s.Ctx, quota))
	// The Job controller tries again after a back-off; a change of the Job makes it try at once.
	s.patchSpec("etl", map[string]any{"suspend": true})
	s.awaitPhase("etl", v1alpha1.PhaseSuspended)
	s.patchSpec("etl", map[string]any{"suspend": false})
	s.awaitRunning("etl", 0)
	assert.NotContains(t, s.awaitPhase("etl", v1alpha1.PhaseRunning).Status.Message, "no pod")
}

func TestStatusSaysHowManyAttemptsFailed(t *testing.T) {
	s := newStory(t)
	object := s.steps("etl", 2)
	object.Spec.BackoffLimit = ptr.To[int32](2)
	s.Create(object)
	s.fail("etl", 0)
	object = s.awaitMessage("etl", "; 1 of 3 attempts failed")
	assert.Contains(t, object.Status.Message, "ended with exit code 1")
	s.Await("the second attempt to run", func() bool { return slices.ContainsFunc(s.pods("etl", 0), isRunning) })
	s.Await("status to say that it runs", func() bool {
		object = s.get("etl")
		return object.Status.Phase == v1alpha1.PhaseRunning && strings.Contains(object.Status.Message, "runs in Job etl-0")
	})
	assert.Contains(t, object.Status.Message, "; 1 of 3 attempts failed")
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
	s.onOwnNode(object)
	s.Create(object)
	s.awaitBound("etl", 0)
	s.kubeletSays("etl", 0, corev1.PodPending, waits("CreateContainerConfigError", `secret "s" not found`))
	s.awaitMessage("etl", "CreateContainerConfigError")
	pod := s.pods("etl", 0)[0]
	// Now, however long that took on a busy machine.
	s.patchSpec("etl", map[string]any{"activeDeadlineSeconds": 1})
	s.Await("its pod to be deleted", func() bool {
		require.NoError(t, s.API.Get(s.Ctx, s.Key(pod.Name), &pod))
		return pod.DeletionTimestamp != nil
	})
	before := pod.DeepCopy()
	pod.Status.Phase = corev1.PodFailed
	require.NoError(t, s.API.Status().Patch(s.Ctx, &pod, client.MergeFrom(before)))
	require.NoError(t, s.API.Delete(s.Ctx, &pod, client.GracePeriodSeconds(0)))
	object = s.awaitPhase("etl", v1alpha1.PhaseFailed)
	assert.Equal(t, v1alpha1.ReasonDeadlineExceeded, object.Status.Progress.FailureReason)
	assert.Contains(t, object.Status.Message, `container "step-0" waits: CreateContainerConfigError: secret "s" not found`)
}

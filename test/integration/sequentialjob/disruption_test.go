package sequentialjob

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

// evict evicts the running pod of a step, as a drain does.
func (s *story) evict(name string, step int) corev1.Pod {
	s.Helper()
	s.awaitRunning(name, step)
	pod := s.pods(name, step)[0]
	require.NoError(s, s.API.SubResource("eviction").Create(s.Ctx, &pod, &policyv1.Eviction{}))
	return pod
}

// awaitReplacement waits until another pod of a step runs.
func (s *story) awaitReplacement(name string, step int, of corev1.Pod) {
	s.Helper()
	s.Await(fmt.Sprintf("another pod of step %d of %s to run", step, name), func() bool {
		pods := s.pods(name, step)
		return len(pods) == 1 && pods[0].UID != of.UID && isRunning(pods[0])
	})
}

func TestAnEvictedPodIsReplacedAndDoesNotCount(t *testing.T) {
	s := newStory(t)
	s.Create(s.steps("etl", 1)) // with backoffLimit 0
	evicted := s.evict("etl", 0)
	s.awaitReplacement("etl", 0, evicted)
	s.complete("etl", 0)
	s.awaitPhase("etl", v1alpha1.PhaseSucceeded)
}

func TestAnEvictedPodIsReplacedOnlyWhenItHasEnded(t *testing.T) {
	s := newStory(t)
	object := s.steps("etl", 1)
	object.Spec.Template.Annotations[cluster.GoneAfter] = "1h"
	s.Create(object)
	evicted := s.evict("etl", 0)
	s.Await("its Job to know", func() bool { return ptr.Deref(s.job("etl-0").Status.Terminating, 0) == 1 })
	s.fence()
	require.NoError(t, s.API.Get(s.Ctx, s.Key(evicted.Name), &evicted))
	assert.Equal(t, corev1.PodRunning, evicted.Status.Phase)
	assert.Empty(t, s.pods("etl", 0), "a second pod")

	s.Patch(&evicted, map[string]any{"metadata": map[string]any{"annotations": map[string]string{cluster.GoneAfter: "0s"}}})
	s.awaitReplacement("etl", 0, evicted)
	s.complete("etl", 0)
	s.awaitPhase("etl", v1alpha1.PhaseSucceeded)
}

// Nothing says that somebody deletes it for a reason that is not its own.
func TestAPodThatSomebodyDeletesCountsAsFailed(t *testing.T) {
	s := newStory(t)
	s.Create(s.steps("etl", 2))
	s.awaitRunning("etl", 0)
	pod := s.pods("etl", 0)[0]
	require.NoError(t, s.API.Delete(s.Ctx, &pod))
	object := s.awaitPhase("etl", v1alpha1.PhaseFailed)
	assert.Equal(t, batchv1.JobReasonBackoffLimitExceeded, object.Status.Progress.FailureReason)
	s.expectNoJob("etl-1")
}

func TestANamespaceIsDeletedWhileAStepRuns(t *testing.T) {
	s := newStory(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-gone"}}
	s.Create(namespace)
	object := s.steps("etl", 2)
	object.Namespace = namespace.Name
	s.Create(object)
	key := s.Key("etl-0")
	key.Namespace = namespace.Name
	s.Await("its Job to have a pod", func() bool {
		job := &batchv1.Job{}
		return s.API.Get(s.Ctx, key, job) == nil && job.Status.Active == 1
	})
	require.NoError(t, s.API.Delete(s.Ctx, namespace))
	s.Await("the namespace to be gone", func() bool {
		return apierrors.IsNotFound(s.API.Get(s.Ctx, s.Key(namespace.Name), namespace))
	})
}

func TestThePolicyOfTheSpecDecidesWhatADisruptionIs(t *testing.T) {
	s := newStory(t)
	object := s.steps("etl", 1)
	object.Spec.PodFailurePolicy = &v1alpha1.PodFailurePolicy{Rules: []v1alpha1.PodFailurePolicyRule{{
		Action:          v1alpha1.PodFailurePolicyFailJob,
		OnPodConditions: []v1alpha1.PodFailurePolicyOnPodCondition{{Type: string(corev1.DisruptionTarget)}},
	}}}
	s.Create(object)
	s.evict("etl", 0)
	object = s.awaitPhase("etl", v1alpha1.PhaseFailed)
	assert.Equal(t, batchv1.JobReasonPodFailurePolicy, object.Status.Progress.FailureReason)
}

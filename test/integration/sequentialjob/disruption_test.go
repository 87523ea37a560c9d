package sequentialjob

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

// disrupt ends the running pod of a step as a drain does.
func (s *story) disrupt(name string, step int) {
	s.Helper()
	s.awaitRunning(name, step)
	pod := s.pods(name, step)[0]
	require.NoError(s, s.API.Status().Patch(s.Ctx, &pod, client.RawPatch(types.StrategicMergePatchType, []byte(
		`{"status":{"phase":"Failed","conditions":[{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI"}]}}`))))
}

func TestADisruptedPodIsReplacedAndDoesNotCount(t *testing.T) {
	s := newStory(t)
	s.Create(s.steps("etl", 1)) // with backoffLimit 0
	s.disrupt("etl", 0)
	s.Await("another pod to run", func() bool {
		for _, pod := range s.pods("etl", 0) {
			if pod.Status.Phase == corev1.PodRunning {
				s.Patch(&pod, map[string]any{"metadata": map[string]any{"annotations": map[string]string{cluster.CompleteAfter: "0s"}}})
				return true
			}
		}
		return false
	})
	s.awaitPhase("etl", v1alpha1.PhaseSucceeded)
}

func TestThePolicyOfTheSpecDecidesWhatADisruptionIs(t *testing.T) {
	s := newStory(t)
	object := s.steps("etl", 1)
	object.Spec.PodFailurePolicy = &v1alpha1.PodFailurePolicy{Rules: []v1alpha1.PodFailurePolicyRule{{
		Action:          v1alpha1.PodFailurePolicyFailJob,
		OnPodConditions: []v1alpha1.PodFailurePolicyOnPodCondition{{Type: string(corev1.DisruptionTarget)}},
	}}}
	s.Create(object)
	s.disrupt("etl", 0)
	object = s.awaitPhase("etl", v1alpha1.PhaseFailed)
	assert.Equal(t, batchv1.JobReasonPodFailurePolicy, object.Status.Progress.FailureReason)
}

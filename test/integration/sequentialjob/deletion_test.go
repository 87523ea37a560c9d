package sequentialjob

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
)

func TestDeletedInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		t.Run(string(policy), func(t *testing.T) {
			s := newStory(t)
			s.Create(s.steps("etl", 3))
			s.complete("etl", 0)
			s.awaitRunning("etl", 1)
			require.NoError(t, s.API.Delete(s.Ctx, s.get("etl"), client.PropagationPolicy(policy)))
			s.awaitGone("etl")
			s.Await("its Jobs to be gone", func() bool { return len(s.jobs()) == 0 })
			s.Await("its pods to be gone", func() bool { return len(s.pods("etl", 1)) == 0 })
			s.expectNoJob("etl-2")
		})
	}
}

func TestTheJobOfTheRunningStepIsDeletedByHand(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]metav1.DeletionPropagation{
		"in the background": metav1.DeletePropagationBackground,
		"in the foreground": metav1.DeletePropagationForeground,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.Create(s.steps("etl", 3))
			s.complete("etl", 0)
			s.awaitRunning("etl", 1)
			s.Await("status to say so", func() bool { return s.get("etl").Status.Step == "2/3" })
			require.NoError(t, s.API.Delete(s.Ctx, s.job("etl-1"), client.PropagationPolicy(policy)))
			object := s.awaitPhase("etl", v1alpha1.PhaseFailed)
			assert.Equal(t, v1alpha1.ReasonJobDeleted, object.Status.Progress.FailureReason)
			assert.Equal(t, ptr.To[int32](1), object.Status.Progress.FailedIndex)
			assert.Contains(t, object.Status.Message, "Job etl-1 was deleted before it finished")
			s.Await("the Job to be gone", func() bool { return s.job("etl-1") == nil })
			s.expectNoJob("etl-1")
			s.expectNoJob("etl-2")
		})
	}
}

func TestTheJobOfACompletedStepIsDeletedByHand(t *testing.T) {
	s := newStory(t)
	s.Create(s.steps("etl", 3))
	s.complete("etl", 0)
	s.complete("etl", 1)
	s.awaitRunning("etl", 2)
	s.Await("status to say so", func() bool {
		return slices.Equal(s.get("etl").Status.Progress.CompletedIndices, []int32{0, 1})
	})
	for _, name := range []string{"etl-0", "etl-1"} {
		require.NoError(t, s.API.Delete(s.Ctx, s.job(name), client.PropagationPolicy(metav1.DeletePropagationForeground)))
		s.Await(name+" to be gone", func() bool { return s.job(name) == nil })
		s.expectNoJob(name)
	}
	s.complete("etl", 2)
	object := s.awaitPhase("etl", v1alpha1.PhaseSucceeded)
	assert.Equal(t, []int32{0, 1, 2}, object.Status.Progress.CompletedIndices)
	s.expectNoJob("etl-0")
}

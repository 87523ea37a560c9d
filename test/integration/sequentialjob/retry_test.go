package sequentialjob

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// retry asks for the failed step to run again.
func (s *story) retry(name, value string) {
	s.Helper()
	s.Patch(&v1alpha1.SequentialJob{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}},
		map[string]any{"metadata": map[string]any{"annotations": map[string]string{v1alpha1.AnnotationRetry: value}}})
}

func TestAFailedSequenceIsRunAgainFromTheFailedStep(t *testing.T) {
	s := newStory(t)
	s.Create(s.steps("etl", 3))
	s.complete("etl", 0)
	first := s.job("etl-0")
	s.fail("etl", 1)
	s.awaitPhase("etl", v1alpha1.PhaseFailed)
	failed := s.job("etl-1")
	s.expectNoJob("etl-2")

	s.retry("etl", "1")
	s.Await("another Job to run", func() bool {
		job := s.job("etl-1")
		return job != nil && job.UID != failed.UID
	})
	object := s.awaitPhase("etl", v1alpha1.PhaseRunning)
	assert.Equal(t, v1alpha1.SequentialJobProgress{CurrentIndex: ptr.To[int32](1), CompletedIndices: []int32{0}}, object.Status.Progress)
	s.complete("etl", 1)
	s.complete("etl", 2)
	object = s.awaitPhase("etl", v1alpha1.PhaseSucceeded)
	assert.Equal(t, v1alpha1.SequentialJobState{Succeeded: 3}, object.Status.State)
	assert.Equal(t, first.UID, s.job("etl-0").UID, "what was completed does not run again")
	s.Await("the event", func() bool {
		return slices.ContainsFunc(s.events("etl"), func(e string) bool {
			return strings.HasPrefix(e, `Retry: step 2/3 "step-1" runs again`)
		})
	})
}

func TestASuspensionHoldsAgainstAQueueThatResumes(t *testing.T) {
	s := newStory(t)
	s.Create(s.steps("etl", 2))
	s.complete("etl", 0)
	s.awaitRunning("etl", 1)
	admitted := s.job("etl-1")
	s.patchSpec("etl", map[string]any{"suspend": true})
	s.Await("the Job to be suspended", func() bool { return ptr.Deref(s.job("etl-1").Spec.Suspend, false) })
	s.setSuspend("etl-1", false) // as Kueue does with what it has admitted
	s.Await("the Job to be gone", func() bool { return s.job("etl-1") == nil })
	object := s.awaitPhase("etl", v1alpha1.PhaseSuspended)
	assert.Empty(t, s.pods("etl", 1))
	assert.Equal(t, []int32{0}, object.Status.Progress.CompletedIndices)
	s.expectNoJob("etl-1")

	s.patchSpec("etl", map[string]any{"suspend": false})
	s.complete("etl", 1)
	s.awaitPhase("etl", v1alpha1.PhaseSucceeded)
	job := s.job("etl-1")
	assert.NotEqual(t, admitted.UID, job.UID)
	assert.True(t, slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobComplete }))
}

package sequentialjob

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

func TestSuspendedInTheMiddleAndResumed(t *testing.T) {
	s := newStory(t)
	s.Create(s.steps("etl", 3))
	s.complete("etl", 0)
	s.awaitRunning("etl", 1)
	running := s.job("etl-1")

	s.patchSpec("etl", map[string]any{"suspend": true})
	object := s.awaitPhase("etl", v1alpha1.PhaseSuspended)
	s.expectCondition(object, v1alpha1.ConditionSuspended, v1alpha1.ReasonSuspended)
	assert.Nil(t, object.Status.StartTime)
	assert.True(t, *s.job("etl-1").Spec.Suspend)
	s.Await("the step to stop", func() bool { return len(s.pods("etl", 1)) == 0 })
	s.fence()
	assert.Empty(t, s.pods("etl", 1))

	s.patchSpec("etl", map[string]any{"suspend": false})
	assert.NotNil(t, s.awaitPhase("etl", v1alpha1.PhaseRunning).Status.StartTime)
	s.complete("etl", 1)
	assert.Equal(t, running.UID, s.job("etl-1").UID, "it is the same Job that goes on")
	s.complete("etl", 2)
	s.awaitPhase("etl", v1alpha1.PhaseSucceeded)
}

func TestCreatedSuspended(t *testing.T) {
	s := newStory(t)
	object := s.quickSteps("etl", 1)
	object.Spec.Suspend = true
	s.Create(object)
	s.awaitPhase("etl", v1alpha1.PhaseSuspended)
	s.expectNoJob("etl-0")
	s.patchSpec("etl", map[string]any{"suspend": false})
	s.awaitPhase("etl", v1alpha1.PhaseSucceeded)
}

func TestAJobThatSomebodyElseSuspendsIsNotResumed(t *testing.T) {
	s := newStory(t)
	s.Create(s.steps("etl", 1))
	s.awaitRunning("etl", 0)
	s.Patch(s.job("etl-0"), map[string]any{"spec": map[string]any{"suspend": true}})
	s.Await("the step to stop", func() bool { return len(s.pods("etl", 0)) == 0 })
	s.fence()
	assert.True(t, *s.job("etl-0").Spec.Suspend)
}

func TestTheDeadlineStopsTheRunningStep(t *testing.T) {
	s := newStory(t)
	object := s.steps("etl", 2)
	object.Spec.ActiveDeadlineSeconds = ptr.To[int64](4)
	s.Create(object)
	object = s.awaitPhase("etl", v1alpha1.PhaseFailed)
	assert.Equal(t, v1alpha1.ReasonDeadlineExceeded, object.Status.Progress.FailureReason)
	assert.Equal(t, ptr.To[int32](0), object.Status.Progress.FailedIndex)
	s.expectCondition(object, v1alpha1.ConditionFailed, v1alpha1.ReasonDeadlineExceeded)
	assert.GreaterOrEqual(t, object.Status.CompletionTime.Sub(object.Status.StartTime.Time), 4*time.Second)

	assert.True(t, s.hasFailedAtDeadline("etl-0"), "it is told when the Job has failed")
	assert.Empty(t, s.pods("etl", 0))
	s.expectNoJob("etl-1")
}

// hasFailedAtDeadline reports whether a Job failed that nothing but its deadline ends. The pod that is deleted then counts as failed, and
// the Job has no retries: either may come first.
func (s *story) hasFailedAtDeadline(job string) bool {
	s.Helper()
	reasons := []string{batchv1.JobReasonDeadlineExceeded, batchv1.JobReasonBackoffLimitExceeded}
	return slices.ContainsFunc(s.job(job).Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue && slices.Contains(reasons, c.Reason)
	})
}

func TestTheDeadlineHoldsWhileTheControllerIsAway(t *testing.T) {
	s := newStoryOfVictims(t)
	object := s.steps("etl", 2)
	object.Spec.ActiveDeadlineSeconds = ptr.To[int64](600)
	s.Create(object)
	s.complete("etl", 0)
	s.awaitRunning("etl", 1)
	assert.LessOrEqual(t, *s.job("etl-1").Spec.ActiveDeadlineSeconds, int64(600), "what is left of the time")
	began := s.awaitPhase("etl", v1alpha1.PhaseRunning).Status.StartTime
	deadline := int64(time.Since(began.Time)/time.Second) + 10
	s.patchSpec("etl", map[string]any{"activeDeadlineSeconds": deadline})
	s.Await("the Job to have less", func() bool { return *s.job("etl-1").Spec.ActiveDeadlineSeconds <= deadline })

	s.WhileControllerDown(func() {
		s.Await("the Job to fail by itself", func() bool { return s.hasFailedAtDeadline("etl-1") })
	})
	object = s.awaitPhase("etl", v1alpha1.PhaseFailed)
	s.expectCondition(object, v1alpha1.ConditionFailed, v1alpha1.ReasonDeadlineExceeded)
	assert.Contains(t, object.Status.Message, fmt.Sprintf("not completed within %d seconds", deadline))
}

func TestAStepIsToldToHaveStoppedWhenItsPodHasEnded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec  map[string]any
		phase v1alpha1.Phase
	}{
		"suspended": {spec: map[string]any{"suspend": true}, phase: v1alpha1.PhaseSuspended},
		"failed":    {spec: map[string]any{"activeDeadlineSeconds": 1}, phase: v1alpha1.PhaseFailed},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.Create(s.steps("etl", 1))
			s.awaitRunning("etl", 0)
			pod := s.pods("etl", 0)[0]
			s.Patch(&pod, map[string]any{"metadata": map[string]any{
				"finalizers": append(pod.Finalizers, "example.com/hold"), "annotations": map[string]string{cluster.GoneAfter: "1h"},
			}})
			s.patchSpec("etl", tc.spec)
			s.Await("the pod to be told to end", func() bool { return len(s.pods("etl", 0)) == 0 })
			s.Await("status to wait for it", func() bool {
				return strings.Contains(s.get("etl").Status.Message, "waiting for its pods to end")
			})
			s.fence()
			object := s.get("etl")
			assert.Equal(t, v1alpha1.PhaseRunning, object.Status.Phase)
			assert.Nil(t, object.Status.CompletionTime)

			s.Patch(&pod, map[string]any{"metadata": map[string]any{"finalizers": nil, "annotations": map[string]string{cluster.GoneAfter: "0s"}}})
			s.awaitPhase("etl", tc.phase)
		})
	}
}

func TestOnResumeTheTimeBeginsAnew(t *testing.T) {
	s := newStory(t)
	object := s.steps("etl", 1)
	object.Spec.ActiveDeadlineSeconds = ptr.To[int64](600)
	s.Create(object)
	s.awaitRunning("etl", 0)
	began := s.awaitPhase("etl", v1alpha1.PhaseRunning).Status.StartTime
	s.patchSpec("etl", map[string]any{"suspend": true})
	assert.Nil(t, s.awaitPhase("etl", v1alpha1.PhaseSuspended).Status.StartTime)
	s.Await("a second to pass", func() bool { return time.Since(began.Time) > time.Second })
	s.patchSpec("etl", map[string]any{"suspend": false})
	assert.True(t, began.Before(s.awaitPhase("etl", v1alpha1.PhaseRunning).Status.StartTime))
	s.complete("etl", 0)
	s.awaitPhase("etl", v1alpha1.PhaseSucceeded)
}

func TestTimeToLive(t *testing.T) {
	t.Parallel()
	const ttl = 20 // seconds, in which the test has to see that it is finished
	for name, end := range map[string]func(*story, string){
		"after success": func(s *story, name string) { s.complete(name, 0) },
		"after failure": func(s *story, name string) { s.fail(name, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			object := s.steps("etl", 1)
			object.Spec.TTLSecondsAfterFinished = ptr.To[int32](ttl)
			s.Create(object)
			end(s, "etl")
			var finished time.Time
			s.Await("it to be finished", func() bool {
				if at := s.get("etl").Status.CompletionTime; at != nil {
					finished = at.Time
				}
				return !finished.IsZero()
			})
			s.awaitGone("etl")
			assert.GreaterOrEqual(t, time.Since(finished), ttl*time.Second)
			s.Await("its Job to be gone", func() bool { return s.job("etl-0") == nil })
			s.Await("its pods to be gone", func() bool { return len(s.pods("etl", 0)) == 0 })
		})
	}
	t.Run("of none, it goes at once", func(t *testing.T) {
		s := newStory(t)
		object := s.quickSteps("etl", 1)
		object.Spec.TTLSecondsAfterFinished = ptr.To[int32](0)
		s.Create(object)
		s.awaitGone("etl")
	})
}

func (s *story) awaitGone(name string) {
	s.Helper()
	s.Await(name+" to be gone", func() bool {
		return apierrors.IsNotFound(s.API.Get(s.Ctx, s.Key(name), &v1alpha1.SequentialJob{}))
	})
}

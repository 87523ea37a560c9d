package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// That a group with requiredStatus Ready waits for as many pods as a Job runs at once is in
// TestEveryKindOfWorkloadSaysWhatToExpect.
func TestAGroupThatMustCompleteWaitsForTheWholeJob(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Group(completed("load")).Pods("Application", "app").Obj(), s.job("load", "load", 5, 2))
	s.createPods(s.pod("app"))
	for done := range 5 {
		pods := s.awaitWorking("load", min(2, 5-done))
		s.expectHeld("app")
		s.succeed(pods[0])
	}
	s.awaitBound("app")
}

func TestAnIndexedJob(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	job := s.job("load", "load", 2, 2)
	job.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
	s.Create(s.sequence("shop").Group(completed("load")).Pods("Application", "app").Obj(), job)
	s.createPods(s.pod("app"))
	pods := s.awaitWorking("load", 2)
	s.succeed(pods[1])
	s.awaitGroup("shop", 0, 1, 2)
	s.expectHeld("app")
	s.succeed(pods[0])
	s.awaitBound("app")
}

func TestAJobThatIsCompleteSatisfiesAGroupThatMustBeReady(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	job := s.job("load", "load", 2, 1)
	s.Create(job)
	for range 2 {
		s.succeed(s.awaitWorking("load", 1)[0])
	}
	s.Await("the Job to be complete", func() bool { return s.jobCondition("load", batchv1.JobComplete) })
	s.Create(s.sequence("shop").Group(tier("load")).Pods("Application", "app").Obj())
	s.createPods(s.pod("app"))
	s.awaitBound("app")
}

func (s *story) jobCondition(name string, kind batchv1.JobConditionType) bool {
	s.Helper()
	job := &batchv1.Job{}
	require.NoError(s, s.API.Get(s.Ctx, s.Key(name), job))
	for _, c := range job.Status.Conditions {
		if c.Type == kind && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

func TestAJobMayRetryWithinItsLimit(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	job := s.job("load", "load", 1, 1)
	job.Spec.BackoffLimit = ptr.To[int32](1)
	s.Create(s.sequence("shop").Group(completed("load")).Pods("Application", "app").Obj(), job)
	s.createPods(s.pod("app"))
	s.fail(s.awaitWorking("load", 1)[0])
	retry := s.awaitWorking("load", 1)
	s.expectHeld("app")
	assert.Equal(t, v1alpha1.PhaseInProgress, s.settledStatus("shop").Phase)
	s.succeed(retry[0])
	s.awaitBound("app")
	s.makeReady("app")
	s.awaitEvent("shop", v1alpha1.EventSequenceCompleted)
	for _, failure := range []string{v1alpha1.ReasonPodFailed, v1alpha1.ReasonJobFailed} {
		assert.False(t, s.hasEvent("shop", failure), "the failure was told of: %s", failure)
	}
}

func TestAFailedJobFailsItsSequenceUntilItIsMadeAgain(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for name, group := range map[string]v1alpha1.PodGroup{"must complete": completed("load"), "must be ready": tier("load")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.Create(s.sequence("shop").Group(group).Pods("Application", "app").Obj(), s.job("load", "load", 1, 1))
			s.createPods(s.pod("app"))
			s.fail(s.awaitWorking("load", 1)[0])
			s.awaitFailed("shop", v1alpha1.ReasonJobFailed)
			s.expectHeld("app")
			s.remove(s.job("load", "load", 1, 1))
			s.Create(s.job("load", "load", 1, 1))
			pod := s.awaitWorking("load", 1)[0]
			s.awaitPhase("shop", v1alpha1.PhaseInProgress)
			s.expectHeld("app")
			s.succeed(pod)
			s.awaitBound("app")
		})
	}
}

func TestOnlyTheNewestJobOfACronJobCounts(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	cron := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "load"},
		Spec: batchv1.CronJobSpec{
			Schedule: "0 0 1 1 *", Suspend: ptr.To(true),
			JobTemplate: batchv1.JobTemplateSpec{Spec: s.job("load", "load", 1, 1).Spec},
		},
	}
	s.Create(s.sequence("shop").Group(completed("load")).Pods("Application", "app").Obj(), cron)
	s.createPods(s.pod("app"))
	run := func(name string) string {
		job := s.job(name, "load", 1, 1)
		job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind("CronJob"))}
		s.Create(job)
		return s.awaitWorking("load", 1)[0]
	}
	s.fail(run("load-1"))
	s.awaitFailed("shop", v1alpha1.ReasonJobFailed)
	newest := run("load-2")
	s.awaitPhase("shop", v1alpha1.PhaseInProgress) // the earlier one counts no more
	s.awaitGroup("shop", 0, 0, 1)
	s.expectHeld("app")
	s.succeed(newest)
	s.awaitBound("app")
}

func TestAFinishedJobIsRemovedWhileBothProgramsAreDown(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStoryIn(t, exclusively(t))
	s.Create(s.sequence("shop").Group(completed("load")).Pods("Application", "app").Obj(), s.job("load", "load", 1, 1))
	pods := s.awaitWorking("load", 1)
	s.succeed(pods[0])
	s.Await("the pass to be recorded", func() bool {
		groups := s.getSequence("shop").Status.Groups
		return len(groups) == 2 && groups[0].PassedAt != nil
	})
	ours := []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController}
	for _, program := range ours {
		require.NoError(t, s.Cluster.Kill(s.Ctx, program))
	}
	s.Patch(s.job("load", "load", 1, 1), `{"spec":{"ttlSecondsAfterFinished":0}}`)
	s.Await("the Job's pods to be gone", func() bool {
		return len(s.podsOf("load", func(*corev1.Pod) bool { return true })) == 0
	})
	for _, program := range ours {
		require.NoError(t, s.Cluster.StartComponent(s.Ctx, program))
	}
	s.createPods(s.pod("app"))
	s.awaitBound("app")
}

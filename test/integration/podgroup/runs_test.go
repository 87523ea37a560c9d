package podgroup

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/test/harness/cluster"
)

// awaitCondition waits until a Job has a condition.
func (s *story) awaitCondition(name string, condition batchv1.JobConditionType) {
	s.Helper()
	job := &batchv1.Job{}
	s.Await(name+" to be "+string(condition), func() bool {
		require.NoError(s, s.API.Get(s.Ctx, s.Key(name), job))
		return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == condition && c.Status == corev1.ConditionTrue
		})
	})
}

// Each run of the same work is a group anew: what is left of the run before does not make up for what this one lacks.
func TestRunsOfTheSameWork(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]func(s *story) func(*batchv1.Job){
		"of a CronJob": func(s *story) func(*batchv1.Job) {
			cron := &batchv1.CronJob{ObjectMeta: s.Meta("nightly")}
			cron.Spec.Schedule, cron.Spec.Suspend = "@yearly", new(true)
			cron.Spec.JobTemplate.Spec = s.job("", 2, nil).Spec
			s.Create(cron)
			return func(job *batchv1.Job) {
				job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind("CronJob"))}
			}
		},
		"of Jobs that people create": func(*story) func(*batchv1.Job) { return func(*batchv1.Job) {} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			edit := own(s)
			run := func(name string) *batchv1.Job {
				job := s.job(name, 2, new(int32(2)))
				job.Spec.Template.Annotations[sizeAnnotation] = "2"
				edit(job)
				return job
			}
			first := run("run-1")
			first.Spec.Template.Annotations[cluster.CompleteAfter] = "0s"
			s.Create(first)
			s.awaitLabels("gang", 2)
			s.awaitCondition("run-1", batchv1.JobComplete)

			quota := s.quota(1) // which does not count pods that have succeeded
			second := run("run-2")
			s.Create(second)
			s.awaitRunning("gang", 1)
			s.fence()
			for _, pod := range s.group("gang") {
				assert.Equal(t, pod.Status.Phase == corev1.PodSucceeded, labelled(&pod), "%s, which is %s", pod.Name, pod.Status.Phase)
			}
			s.liftQuota(quota, 4, second)
			s.awaitLabels("gang", 4)
		})
	}
}

// A Job that failed keeps its group from being ready, until somebody begins anew.
func TestAJobFails(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.expect("gang", 3)
	driver := s.job("driver", 1, nil)
	driver.Spec.Suspend = new(true)
	s.Create(driver)
	s.Await("the next second, for the workers are to fail later", func() bool { return time.Now().Unix() > driver.CreationTimestamp.Unix() })
	failing := s.job("workers", 2, nil)
	failing.Spec.BackoffLimit = new(int32(0))
	delete(failing.Spec.Template.Annotations, cluster.CompleteAfter)
	failing.Spec.Template.Annotations[cluster.FailAfter] = "0s"
	s.Create(failing)
	s.awaitCondition("workers", batchv1.JobFailed)
	s.resume(driver)
	s.awaitRunning("gang", 1)
	s.expectNoLabels("gang")
	s.awaitEvent("GroupNotReady", "^the group is not ready: .* more are missing .*\\. Job workers has failed and creates no more pods")

	s.Create(s.job("workers-again", 2, nil))
	s.Await("the driver and the new workers to be labelled", func() bool {
		return len(s.group("gang", client.MatchingLabels{readyLabel: "true"})) == 3
	})
	for _, pod := range s.group("gang") {
		assert.Equal(t, pod.Status.Phase == corev1.PodRunning, labelled(&pod), "%s, which is %s", pod.Name, pod.Status.Phase)
	}
}

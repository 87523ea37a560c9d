package sequentialjob

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
)

func jobName(name string, step int) string { return fmt.Sprintf("%s-%d", name, step) }

func TestNamesThatAreTooLongForAJob(t *testing.T) {
	s := newStory(t)
	long := strings.Repeat(strings.Repeat("a", 42)+".", 5) + strings.Repeat("b", 38)
	names := []string{long[:252] + "x", long[:252] + "y"} // alike in more than any Job's name has room for
	for _, name := range names {
		require.Len(t, name, 253)
		s.Create(s.quickSteps(name, 2))
	}
	for _, name := range names {
		s.awaitPhase(name, v1alpha1.PhaseSucceeded)
	}
	seen := sets.New[string]()
	for _, job := range s.jobs() {
		assert.LessOrEqual(t, len(job.Name), 63)
		seen.Insert(job.Labels[v1alpha1.LabelName])
	}
	assert.Len(t, s.jobs(), 4)
	assert.Len(t, seen, 2, "the label tells the two apart")
}

func TestAJobOfSomebodyElseIsLeftAlone(t *testing.T) {
	s := newStory(t)
	s.Create(s.foreignJob("etl-1"))
	before := s.awaitSettled("etl-1")
	s.Create(s.steps("etl", 3))
	s.complete("etl", 0)
	object := s.awaitPhase("etl", v1alpha1.PhaseFailed)
	assert.Equal(t, v1alpha1.ReasonJobNameConflict, object.Status.Progress.FailureReason)
	assert.Equal(t, ptr.To[int32](1), object.Status.Progress.FailedIndex)
	assert.Equal(t, []int32{0}, object.Status.Progress.CompletedIndices)
	s.expectCondition(object, v1alpha1.ConditionFailed, v1alpha1.ReasonJobNameConflict)
	s.expectNoJob("etl-2")
	require.NoError(t, s.API.Delete(s.Ctx, object))
	s.fence()
	after := s.job("etl-1")
	require.NotNil(t, after)
	assert.Equal(t, before, after.ResourceVersion, "it was written to")
}

// foreignJob is a Job that runs nothing.
func (s *story) foreignJob(name string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec: batchv1.JobSpec{Suspend: ptr.To(true), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "other", Image: "example.com/other"}},
		}}},
	}
}

// awaitSettled waits until the Job controller has dealt with a suspended Job, and returns its version.
func (s *story) awaitSettled(name string) string {
	s.Helper()
	s.Await(name+" to be suspended", func() bool { return len(s.job(name).Status.Conditions) > 0 })
	return s.job(name).ResourceVersion
}

func TestAJobThatIsOnItsWayOutIsWaitedFor(t *testing.T) {
	t.Parallel()
	t.Run("somebody else's", func(t *testing.T) {
		s := newStory(t)
		job := s.foreignJob("etl-0")
		job.Finalizers = []string{"example.com/hold"}
		s.Create(job)
		require.NoError(t, s.API.Delete(s.Ctx, job))
		s.expectToWaitFor(job)
	})
	t.Run("that of an earlier object of the same name", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.steps("etl", 1))
		s.awaitRunning("etl", 0)
		job := s.job("etl-0")
		s.Patch(job, map[string]any{"metadata": map[string]any{"finalizers": append(job.Finalizers, "example.com/hold")}})
		require.NoError(t, s.API.Delete(s.Ctx, s.get("etl"), client.PropagationPolicy(metav1.DeletePropagationBackground)))
		s.expectToWaitFor(job)
	})
}

// expectToWaitFor lets a Job go that is being deleted but held, and sees that etl-0 is created only then.
func (s *story) expectToWaitFor(old *batchv1.Job) {
	s.Helper()
	s.Create(s.quickSteps("etl", 1))
	object := s.awaitPhase("etl", v1alpha1.PhasePending)
	s.expectCondition(object, v1alpha1.ConditionProgressing, v1alpha1.ReasonWaitingForOld)
	assert.Equal(s, old.UID, s.job("etl-0").UID)
	s.Patch(old, map[string]any{"metadata": map[string]any{"finalizers": nil}})
	s.awaitPhase("etl", v1alpha1.PhaseSucceeded)
	assert.NotEqual(s, old.UID, s.job("etl-0").UID)
}

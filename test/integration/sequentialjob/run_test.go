package sequentialjob

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

func TestStepsRunOneAfterAnother(t *testing.T) {
	s := newStory(t)
	s.Create(s.steps("etl", 3))
	s.awaitRunning("etl", 0)
	s.expectNoJob("etl-1")
	object := s.awaitPhase("etl", v1alpha1.PhaseRunning)
	assert.Equal(t, "1/3", object.Status.Step)
	assert.Equal(t, v1alpha1.SequentialJobState{Active: 1}, object.Status.State)
	s.expectCondition(object, v1alpha1.ConditionProgressing, v1alpha1.ReasonJobStarted)

	s.complete("etl", 0)
	s.awaitRunning("etl", 1)
	s.expectNoJob("etl-2")
	s.Await("status to say so", func() bool { object = s.get("etl"); return object.Status.Step == "2/3" })
	s.expectCondition(object, v1alpha1.ConditionProgressing, v1alpha1.ReasonJobCompleted)
	s.complete("etl", 1)
	s.complete("etl", 2)
	object = s.awaitPhase("etl", v1alpha1.PhaseSucceeded)

	assert.Equal(t, "3/3", object.Status.Step)
	assert.Equal(t, v1alpha1.SequentialJobState{Succeeded: 3}, object.Status.State)
	assert.Equal(t, v1alpha1.SequentialJobProgress{
		CurrentIndex: ptr.To[int32](3), CompletedIndices: []int32{0, 1, 2},
	}, object.Status.Progress)
	assert.NotNil(t, object.Status.StartTime)
	assert.NotNil(t, object.Status.CompletionTime)
	s.expectCondition(object, v1alpha1.ConditionAvailable, v1alpha1.ReasonCompleted)
	s.expectCondition(object, v1alpha1.ConditionComplete, v1alpha1.ReasonCompletionsReached)

	want := []string{
		`JobStarted: step 1/3 "step-0" started as Job etl-0`, `JobCompleted: step 1/3 "step-0" completed in Job etl-0`,
		`JobStarted: step 2/3 "step-1" started as Job etl-1`, `JobCompleted: step 2/3 "step-1" completed in Job etl-1`,
		`JobStarted: step 3/3 "step-2" started as Job etl-2`, `JobCompleted: step 3/3 "step-2" completed in Job etl-2`,
	}
	s.Await("all events", func() bool { return len(s.events("etl")) >= len(want) })
	assert.ElementsMatch(t, want, s.events("etl"))
}

func TestSixtyFourSteps(t *testing.T) {
	s := newStory(t)
	jobs := s.Watch(s.Ctx, &batchv1.JobList{})
	defer jobs.Stop()
	s.Create(s.quickSteps("long", 64))
	delays := s.handOver(jobs, "long", 64)
	t.Logf("from one step to the next: median %v, at most %v", delays[len(delays)/2], delays[len(delays)-1])
	object := s.awaitPhase("long", v1alpha1.PhaseSucceeded)
	assert.Equal(t, "64/64", object.Status.Step)
	assert.Len(t, object.Status.Progress.CompletedIndices, 64)
	s.expectInOrder("long", 64)
}

// expectInOrder says that each step had one Job, created when the one before was complete.
func (s *story) expectInOrder(name string, steps int) {
	s.Helper()
	jobs := slices.DeleteFunc(s.jobs(), func(j batchv1.Job) bool { return j.Labels[v1alpha1.LabelName] != name })
	require.Len(s, jobs, steps)
	slices.SortFunc(jobs, func(a, b batchv1.Job) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	byName := map[string]batchv1.Job{}
	for _, job := range jobs {
		byName[job.Name] = job
	}
	for i := 1; i < steps; i++ {
		before, after := byName[jobName(name, i-1)], byName[jobName(name, i)]
		require.NotNil(s, before.Status.CompletionTime, before.Name)
		assert.False(s, after.CreationTimestamp.Before(before.Status.CompletionTime), "%s before %s was complete", after.Name, before.Name)
	}
}

func TestTheFirstFailureStopsTheSequence(t *testing.T) {
	s := newStory(t)
	s.Create(s.steps("etl", 3))
	s.complete("etl", 0)
	s.fail("etl", 1)
	object := s.awaitPhase("etl", v1alpha1.PhaseFailed)

	assert.Equal(t, v1alpha1.SequentialJobProgress{
		CurrentIndex: ptr.To[int32](1), CompletedIndices: []int32{0},
		FailedIndex: ptr.To[int32](1), FailureReason: batchv1.JobReasonBackoffLimitExceeded,
	}, object.Status.Progress)
	assert.Equal(t, v1alpha1.SequentialJobState{Succeeded: 1, Failed: 1}, object.Status.State)
	assert.Contains(t, object.Status.Message, `step 2/3 "step-1": Job etl-1 failed: BackoffLimitExceeded`)
	s.expectCondition(object, v1alpha1.ConditionFailed, v1alpha1.ReasonJobFailed)
	s.expectNoJob("etl-2")
	s.Await("the event", func() bool {
		return slices.Contains(s.events("etl"), "JobFailed: "+object.Status.Message)
	})
}

// Steps that people put in order often must not run twice.
func TestWithoutABackoffLimitTheFirstFailureStopsTheSequence(t *testing.T) {
	s := newStory(t)
	object := s.steps("etl", 2)
	object.Spec.BackoffLimit = nil
	s.Create(object)
	s.fail("etl", 0)
	object = s.awaitPhase("etl", v1alpha1.PhaseFailed)
	assert.Equal(t, batchv1.JobReasonBackoffLimitExceeded, object.Status.Progress.FailureReason)
	assert.Equal(t, int32(1), s.job("etl-0").Status.Failed, "pods that were tried")
	s.expectNoJob("etl-1")
}

func TestAStepIsRetriedAsOftenAsTheSpecSays(t *testing.T) {
	s := newStory(t)
	object := s.steps("etl", 2)
	object.Spec.BackoffLimit = ptr.To[int32](1)
	s.Create(object)
	s.fail("etl", 0)
	s.Await("the second try", func() bool {
		job := s.job("etl-0")
		return job != nil && job.Status.Failed == 1 && job.Status.Active == 1
	})
	s.Await("its pod to run", func() bool { return slices.ContainsFunc(s.pods("etl", 0), isRunning) })
	for _, pod := range slices.DeleteFunc(s.pods("etl", 0), func(p corev1.Pod) bool { return !isRunning(p) }) {
		s.Patch(&pod, map[string]any{"metadata": map[string]any{"annotations": map[string]string{cluster.CompleteAfter: "0s"}}})
	}
	s.awaitRunning("etl", 1)
	s.Await("status to say so", func() bool { return slices.Equal(s.get("etl").Status.Progress.CompletedIndices, []int32{0}) })
}

func isRunning(p corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning }

func TestPodsHaveWhatTheTemplateSharesAndTheirOwnStep(t *testing.T) {
	s := newStory(t)
	object := s.steps("etl", 1)
	object.Spec.Template = corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{"team": "data", v1alpha1.LabelStepIndex: "not yours"},
			Annotations: map[string]string{"note": "shared", cluster.CompleteAfter: "never"},
		},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyOnFailure,
			Volumes: []corev1.Volume{{
				Name: "work", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
			}},
			NodeSelector: map[string]string{"kubernetes.io/os": "linux"},
		},
	}
	object.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "work", MountPath: "/work"}}
	object.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{
		SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "database"}},
	}}
	s.Create(object)
	s.Await("its pod", func() bool { return len(s.pods("etl", 0)) == 1 })

	pod := s.pods("etl", 0)[0]
	assert.Equal(t, "data", pod.Labels["team"])
	assert.Equal(t, "shared", pod.Annotations["note"])
	assert.Equal(t, corev1.RestartPolicyOnFailure, pod.Spec.RestartPolicy)
	assert.Equal(t, "linux", pod.Spec.NodeSelector["kubernetes.io/os"])
	require.Len(t, pod.Spec.Containers, 1)
	assert.Equal(t, "step-0", pod.Spec.Containers[0].Name)
	assert.Equal(t, "database", pod.Spec.Containers[0].EnvFrom[0].SecretRef.Name)
	assert.Equal(t, "/work", pod.Spec.Containers[0].VolumeMounts[0].MountPath)
	assert.Equal(t, "work", pod.Spec.Volumes[0].Name)
	job := s.job("etl-0")
	assert.Equal(t, map[string]string{
		"team": "data", v1alpha1.LabelName: "etl", v1alpha1.LabelStepIndex: "0",
	}, job.Labels)
	assert.True(t, metav1.IsControlledBy(job, object))
}

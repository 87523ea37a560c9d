package sequentialjob

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// What happens to an object while its steps are checked, or one of them is refused.

func TestAMistakeOfASuspendedObjectIsFoundWhenItIsResumed(t *testing.T) {
	q := newOfThree(t, map[string]error{"s-00-2": invalidJob("nowhere")})
	q.changeObject(func(object *v1alpha1.SequentialJob) { object.Spec.Suspend = true })
	q.pass(time.Hour)
	assert.Equal(t, v1alpha1.PhaseSuspended, q.status("data", "s-00").Phase)
	assert.Empty(t, q.dryRuns)
	q.changeObject(func(object *v1alpha1.SequentialJob) { object.Spec.Suspend = false })
	q.look()
	assert.Equal(t, v1alpha1.PhaseFailed, q.status("data", "s-00").Phase)
	assert.Empty(t, q.tries)
}

func TestARetryAfterAMistakeChecksAgainAndStartsWithTheFirstStep(t *testing.T) {
	refusals := map[string]error{"s-00-2": invalidJob("nowhere")}
	q := newOfThree(t, refusals)
	retry := func(value string) v1alpha1.SequentialJobStatus {
		q.changeObject(func(object *v1alpha1.SequentialJob) {
			object.Annotations = map[string]string{v1alpha1.AnnotationRetry: value}
		})
		q.look()
		q.look()
		return q.status("data", "s-00")
	}
	q.pass(time.Minute)
	status := retry("1")
	assert.Equal(t, v1alpha1.PhaseFailed, status.Phase, "the containers are immutable")
	assert.Equal(t, ptr.To[int32](2), status.Progress.FailedIndex)
	assert.Empty(t, q.tries)

	delete(refusals, "s-00-2") // as an upgrade of the API server may do
	status = retry("2")
	assert.Equal(t, v1alpha1.PhaseRunning, status.Phase)
	assert.Nil(t, status.Progress.FailedIndex)
	assert.Equal(t, []string{"data/s-00-0"}, q.tries)
}

func TestNoStepOfARestoredObjectIsCheckedBeforeSomebodySaysThatItRuns(t *testing.T) {
	q := newOfThree(t, nil)
	q.changeObject(func(object *v1alpha1.SequentialJob) {
		object.Labels = map[string]string{v1alpha1.LabelRestored: "tuesday"}
	})
	q.pass(time.Hour)
	assert.Empty(t, q.dryRuns)
	q.changeObject(func(object *v1alpha1.SequentialJob) { object.Labels = nil })
	q.look()
	assert.Len(t, q.dryRuns, 3)
	assert.Equal(t, v1alpha1.PhaseRunning, q.status("data", "s-00").Phase)
}

func TestAnObjectThatWaitsForALaterStepIsDeleted(t *testing.T) {
	q := newOfThree(t, map[string]error{"s-00-1": deniedByPolicy()})
	q.pass(time.Minute)
	object := &v1alpha1.SequentialJob{}
	object.Namespace, object.Name = "data", "s-00"
	require.NoError(t, q.client.Delete(t.Context(), object))
	q.look()
	q.dryRuns = nil
	q.pass(time.Hour)
	assert.Empty(t, q.dryRuns)
	assert.Empty(t, q.refusals.namespaces, "it keeps nobody from trying")
}

func TestAnObjectThatWaitsForALaterStepIsSuspendedAndResumed(t *testing.T) {
	refusals := map[string]error{"s-00-1": deniedByPolicy()}
	q := newOfThree(t, refusals)
	q.pass(time.Minute)
	q.changeObject(func(object *v1alpha1.SequentialJob) { object.Spec.Suspend = true })
	q.look()
	q.dryRuns = nil
	q.pass(time.Hour)
	assert.Equal(t, v1alpha1.PhaseSuspended, q.status("data", "s-00").Phase)
	assert.Empty(t, q.dryRuns)
	delete(refusals, "s-00-1")
	q.changeObject(func(object *v1alpha1.SequentialJob) { object.Spec.Suspend = false })
	q.look()
	assert.Equal(t, v1alpha1.PhaseRunning, q.status("data", "s-00").Phase)
}

func TestTheDeadlineDoesNotRunBeforeAStepHasStarted(t *testing.T) {
	refusals := map[string]error{"s-00-1": deniedByPolicy()}
	q := newOfThree(t, refusals)
	q.changeObject(func(object *v1alpha1.SequentialJob) { object.Spec.ActiveDeadlineSeconds = new(int64(60)) })
	q.pass(time.Hour)
	status := q.status("data", "s-00")
	assert.Equal(t, v1alpha1.PhasePending, status.Phase)
	assert.Nil(t, status.StartTime)
	delete(refusals, "s-00-1")
	q.pass(maxRetry)
	assert.NotNil(t, q.status("data", "s-00").StartTime)
	job := &batchv1.Job{}
	require.NoError(t, q.client.Get(t.Context(), keyOf(objectMeta("data", "s-00-0")), job))
	assert.Contains(t, []string{"60", "61"}, job.Annotations[v1alpha1.AnnotationDeadline], "what it had when it started")
}

func TestAnotherObjectOfTheSameNameIsCheckedAnew(t *testing.T) {
	q := newOfThree(t, nil)
	q.refuses = func(*batchv1.Job) error {
		if len(q.tries) > 0 {
			return deniedByPolicy() // the first step alone
		}
		return nil
	}
	q.pass(time.Second)
	require.NotEmpty(t, q.checked.objects)
	object := &v1alpha1.SequentialJob{}
	require.NoError(t, q.client.Get(t.Context(), keyOf(objectMeta("data", "s-00")), object))
	require.NoError(t, q.client.Delete(t.Context(), object))
	object.UID, object.ResourceVersion, object.Status = types.UID("another"), "", v1alpha1.SequentialJobStatus{}
	require.NoError(t, q.client.Create(t.Context(), object))
	q.dryRuns, q.tries = nil, nil
	q.refuses = func(job *batchv1.Job) error { return map[string]error{"s-00-2": invalidJob("nowhere")}[job.Name] }
	q.written = newWritten() // versions of the fake begin anew
	q.pass(maxRetry)
	assert.Len(t, q.dryRuns, 3)
	assert.Equal(t, v1alpha1.PhaseFailed, q.status("data", "s-00").Phase)
}

// The Job of the first step was created, and neither the cache nor status has it yet.
func TestACheckBySomebodyWhoDoesNotKnowThatTheFirstStepRuns(t *testing.T) {
	q := newOfThree(t, nil)
	object := &v1alpha1.SequentialJob{}
	require.NoError(t, q.client.Get(t.Context(), keyOf(objectMeta("data", "s-00")), object))
	require.NoError(t, q.client.Create(t.Context(), newJob(object, 0, jobDeadline{})))
	q.cache = withoutJobs{q.client}
	q.look()
	assert.Equal(t, v1alpha1.PhaseRunning, q.status("data", "s-00").Phase)
	jobs := batchv1.JobList{}
	require.NoError(t, q.client.List(t.Context(), &jobs))
	assert.Len(t, jobs.Items, 1)
}

func TestChecksOfManyObjectsCostARequestForEachStep(t *testing.T) {
	q := newQuota(t, map[string]int{"data": 50})
	q.refuses = func(*batchv1.Job) error { return nil }
	objects := v1alpha1.SequentialJobList{}
	require.NoError(t, q.client.List(t.Context(), &objects))
	for i := range objects.Items {
		object := &objects.Items[i]
		object.Spec.Containers = append(object.Spec.Containers, corev1.Container{Name: "b", Image: "i"}, corev1.Container{Name: "c", Image: "i"})
		require.NoError(t, q.client.Update(t.Context(), object))
	}
	q.pass(time.Hour)
	for i := range objects.Items {
		q.wake(client.ObjectKeyFromObject(&objects.Items[i]), 0)
	}
	q.pass(time.Hour)
	assert.Len(t, q.dryRuns, 50*3)
	assert.Len(t, q.tries, 50)
}

// The clock of the API server is ahead of ours, or behind.
func TestClocksThatDifferMakeNoPodWaitForLong(t *testing.T) {
	pod := podOf("job-0", "a", 3600, "")
	pod.Status.Phase = corev1.PodPending
	said, again := wordOf(&batchv1.Job{}, &pod, noon)
	assert.Empty(t, said.text)
	assert.True(t, again.After(noon))
	pod.CreationTimestamp = *seconds(-3600)
	said, again = wordOf(&batchv1.Job{}, &pod, noon)
	assert.True(t, said.waits)
	assert.Zero(t, again)
}

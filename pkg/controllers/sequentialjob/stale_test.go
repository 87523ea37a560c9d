package sequentialjob

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// staleJobs is a cache whose Jobs are as they were.
type staleJobs struct {
	client.Reader
	jobs batchv1.JobList
}

func (c *staleJobs) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if jobs, ok := list.(*batchv1.JobList); ok {
		c.jobs.DeepCopyInto(jobs)
		return nil
	}
	return c.Reader.List(ctx, list, options...)
}

// behind freezes the cache: from now on it shows the Jobs as they are at the moment.
func (q *quota) behind() {
	q.Helper()
	stale := &staleJobs{Reader: q.client}
	require.NoError(q, q.client.List(q.Context(), &stale.jobs))
	q.cache = stale
}

// change changes a Job as somebody else does.
func (q *quota) change(name string, change func(*batchv1.Job)) {
	q.Helper()
	job := &batchv1.Job{}
	require.NoError(q, q.client.Get(q.Context(), keyOf(objectMeta("data", name)), job))
	change(job)
	require.NoError(q, q.client.Update(q.Context(), job))
}

func (q *quota) suspend(suspend bool) {
	q.Helper()
	q.changeObject(func(object *v1alpha1.SequentialJob) { object.Spec.Suspend = suspend })
}

func newRunning(t *testing.T) *quota {
	q := newQuota(t, map[string]int{"data": 1})
	q.refuses = func(*batchv1.Job) error { return nil }
	q.pass(time.Second)
	require.Equal(t, v1alpha1.PhaseRunning, q.status("data", "s-00").Phase)
	return q
}

func TestADiscardedJobThatHasCompletedMeanwhileIsNotDeleted(t *testing.T) {
	q := newRunning(t)
	q.suspend(true)
	q.look()
	q.change("s-00-0", func(job *batchv1.Job) { job.Spec.Suspend = new(false) })
	q.look() // notes that it counts no more
	require.NotEmpty(t, q.status("data", "s-00").Progress.DiscardedJob)

	q.behind()
	q.changeStatus(complete)
	q.look()
	job := &batchv1.Job{}
	key := keyOf(objectMeta("data", "s-00-0"))
	require.NoError(t, q.client.Get(t.Context(), key, job), "its completion would be lost, and the step run again")
	q.cache = q.client
	q.look()
	assert.Equal(t, v1alpha1.PhaseSucceeded, q.status("data", "s-00").Phase)
}

func TestAJobThatAQueueSuspendsAtTheSameTimeIsLeftToTheQueue(t *testing.T) {
	q := newRunning(t)
	q.behind()
	q.change("s-00-0", func(job *batchv1.Job) { job.Spec.Suspend = new(true) })
	q.suspend(true)
	q.look()
	q.cache = q.client
	q.look()
	q.suspend(false)
	q.look()
	job := &batchv1.Job{}
	require.NoError(t, q.client.Get(t.Context(), keyOf(objectMeta("data", "s-00-0")), job))
	assert.True(t, isSuspended(job), "it is for the queue to resume it")
}

func TestADeadlineThatSomebodyElseSetsAtTheSameTimeIsLeftAlone(t *testing.T) {
	q := newRunning(t)
	q.start()
	q.behind()
	q.change("s-00-0", func(job *batchv1.Job) { job.Spec.ActiveDeadlineSeconds = new(int64(5)) })
	q.changeObject(func(object *v1alpha1.SequentialJob) { object.Spec.ActiveDeadlineSeconds = new(int64(900)) })
	for range 2 {
		q.look()
		q.cache = q.client
	}
	job := &batchv1.Job{}
	require.NoError(t, q.client.Get(t.Context(), keyOf(objectMeta("data", "s-00-0")), job))
	assert.Equal(t, new(int64(5)), job.Spec.ActiveDeadlineSeconds)
}

// anotherJob is a client of an API server on which each Job was deleted and created again by somebody else.
type anotherJob struct{ client.Client }

func (anotherJob) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	uid := field.NewPath("metadata", "uid")
	return apierrors.NewInvalid(batchv1.SchemeGroupVersion.WithKind("Job").GroupKind(), "s-00-0",
		field.ErrorList{field.Invalid(uid, "job-1", "field is immutable")})
}

func TestAJobThatAnotherHasReplacedIsNoRefusalToStopIt(t *testing.T) {
	q := newRunning(t)
	q.start()
	q.look()
	q.writer = anotherJob{q.client}
	q.changeObject(func(object *v1alpha1.SequentialJob) { object.Spec.ActiveDeadlineSeconds = new(int64(1)) })
	q.clock.SetTime(q.clock.Now().Add(time.Minute))
	q.look()
	status := q.status("data", "s-00")
	assert.NotContains(t, status.Message, "refuses")
	assert.NotEqual(t, v1alpha1.ReasonJobUpdateFailed, progressingReason(status))
	assert.Empty(t, q.woken, "the watch of Jobs brings what happened")
}

func TestAJobOfSomebodyElseIsNotTakenForThatOfAStep(t *testing.T) {
	q := newQuota(t, map[string]int{"data": 1})
	q.refuses = func(*batchv1.Job) error { return nil }
	theirs := &batchv1.Job{ObjectMeta: objectMeta("data", "s-00-0")}
	complete(theirs)
	require.NoError(t, q.client.Create(t.Context(), theirs))
	q.look()
	status := q.status("data", "s-00")
	assert.Equal(t, v1alpha1.PhaseFailed, status.Phase)
	assert.Contains(t, status.Message, "a Job s-00-0 exists that does not belong to this SequentialJob")
}

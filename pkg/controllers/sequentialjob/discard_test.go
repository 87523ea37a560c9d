package sequentialjob

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/tools/events"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// afterFailure is the world of three steps of which the second has failed for a reason.
func afterFailure(change func(*worldWrapper)) *worldWrapper {
	w := makeWorld(3).at(1).job(0, complete).spec(deadline(90))
	change(w)
	w.object.Status = decide(w.world).status
	return w
}

func (w *worldWrapper) retry(value string) *worldWrapper {
	w.object.Annotations = map[string]string{v1alpha1.AnnotationRetry: value}
	return w
}

func TestARetryRunsTheFailedStepAgain(t *testing.T) {
	for name, failed := range map[string]*worldWrapper{
		"after its Job failed":      afterFailure(func(w *worldWrapper) { w.job(1, failedFor("BackoffLimitExceeded")) }),
		"after its Job was deleted": afterFailure(func(*worldWrapper) {}),
		"after the deadline":        afterFailure(func(w *worldWrapper) { w.job(1, stopped, failedFor("DeadlineExceeded")) }),
		"after the deadline, between two": afterFailure(func(w *worldWrapper) {
			w.job(0, complete).status(func(s *v1alpha1.SequentialJobStatus) { s.State.Active = 0 }).spec(deadline(60))
		}),
		"after somebody else's Job": afterFailure(func(w *worldWrapper) {
			w.status(func(s *v1alpha1.SequentialJobStatus) { s.State.Active = 0 }).
				obstructed(obstacle{reason: "JobNameConflict", message: "not ours", final: true})
		}),
	} {
		t.Run(name, func(t *testing.T) {
			w := failed
			w.obstacle = nil
			w.spec(deadline(90))
			require.Equal(t, v1alpha1.PhaseFailed, w.object.Status.Phase)
			assert.Equal(t, w.object.Status, decide(w.world).status, "nobody asked for it")

			d := decide(w.retry("1").world)
			assert.Equal(t, nothing, d.write, "status comes first")
			assert.Equal(t, v1alpha1.PhasePending, d.status.Phase)
			assert.Equal(t, "1", d.status.Retry)
			assert.Equal(t, []int32{0}, d.status.Progress.CompletedIndices, "what was completed does not run again")
			assert.Nil(t, d.status.Progress.FailedIndex)
			assert.Nil(t, d.status.CompletionTime)
			assert.Nil(t, d.status.StartTime, "the time begins anew")
			assert.Equal(t, v1alpha1.SequentialJobState{Succeeded: 1}, d.status.State)
			w.object.Status = d.status

			if w.jobs[1] != nil {
				assert.Equal(t, deleteJob, decide(w.world).write)
				terminating(w.jobs[1])
				d = decide(w.world)
				assert.Equal(t, nothing, d.write, "its pods have yet to end")
				assert.Equal(t, v1alpha1.PhasePending, d.status.Phase)
				w.object.Status = d.status
				delete(w.jobs, 1)
			}
			d = decide(w.world)
			assert.Equal(t, createJob, d.write)
			assert.Equal(t, new(int64(90)), d.deadline.seconds)
			w.job(1, func(job *batchv1.Job) { job.UID = "another" })
			w.object.Status = decide(w.world).status
			assert.Equal(t, v1alpha1.PhaseRunning, w.object.Status.Phase)
			assert.Empty(t, w.object.Status.Progress.DiscardedJob)

			failedFor("BackoffLimitExceeded")(w.jobs[1])
			w.object.Status = decide(w.world).status
			assert.Equal(t, v1alpha1.PhaseFailed, w.object.Status.Phase)
			assert.Equal(t, v1alpha1.PhaseFailed, decide(w.world).status.Phase, "each value counts once")
			assert.Equal(t, v1alpha1.PhasePending, decide(w.retry("2").world).status.Phase)
		})
	}
}

func TestOnlyAFailureIsRetried(t *testing.T) {
	t.Run("not a success", func(t *testing.T) {
		w := makeWorld(1).at(0).job(0, complete)
		w.object.Status = decide(w.world).status
		assert.Equal(t, v1alpha1.PhaseSucceeded, decide(w.retry("1").world).status.Phase)
	})
	t.Run("not one that comes after the annotation", func(t *testing.T) {
		w := makeWorld(1).at(0).job(0).retry("1")
		w.object.Status = decide(w.world).status
		w.job(0, failedFor("BackoffLimitExceeded"))
		w.object.Status = decide(w.world).status
		assert.Equal(t, v1alpha1.PhaseFailed, decide(w.world).status.Phase)
	})
	t.Run("values of any length", func(t *testing.T) {
		w := makeWorld(1).at(0).job(0, failedFor("BackoffLimitExceeded"))
		w.object.Status = decide(w.world).status
		w.object.Status = decide(w.retry(strings.Repeat("ä", 200)).world).status
		assert.Equal(t, v1alpha1.PhasePending, w.object.Status.Phase)
		assert.LessOrEqual(t, len(w.object.Status.Retry), maxRetryLength)
		assert.False(t, isRetryAsked(w.object))
	})
}

func TestASuspensionThatSomebodyElseUndoesIsNotRepeated(t *testing.T) {
	resumed := func(job *batchv1.Job) {
		suspendedByUs(job)
		job.Spec.Suspend = new(false)
		active(job)
	}
	w := makeWorld(2).at(0).job(0, resumed).spec(suspend)
	d := decide(w.world)
	assert.Equal(t, nothing, d.write, "status comes first")
	assert.Equal(t, v1alpha1.PhaseRunning, d.status.Phase, "its pods have yet to end")
	assert.Equal(t, w.jobs[0].UID, d.status.Progress.DiscardedJob)
	w.object.Status = d.status
	assert.Equal(t, deleteJob, decide(w.world).write)
	terminating(w.jobs[0])
	w.object.Status = decide(w.world).status
	assert.Equal(t, v1alpha1.PhaseRunning, w.object.Status.Phase)

	delete(w.jobs, 0)
	w.object.Status = decide(w.world).status
	assert.Equal(t, v1alpha1.PhaseSuspended, w.object.Status.Phase, "it is not taken for a Job that somebody deleted")
	w.object.Spec.Suspend = false
	assert.Equal(t, createJob, decide(w.world).write)

	w = makeWorld(2).at(0).job(0, resumed)
	assert.Equal(t, resumeJob, decide(w.world).write, "our mark goes as well")
}

// A cache may be so far behind that the discarded Job seems to be gone.
func TestADiscardedJobIsDeletedAlthoughTheCacheDoesNotKnowIt(t *testing.T) {
	q := newQuota(t, map[string]int{"data": 1})
	recorder := events.NewFakeRecorder(100)
	q.recorder, q.refuses = recorder, func(*batchv1.Job) error { return nil }
	q.pass(time.Second)
	job := &batchv1.Job{}
	key := objectMeta("data", "s-00-0")
	require.NoError(t, q.client.Get(t.Context(), keyOf(key), job))
	failedFor("BackoffLimitExceeded")(job)
	require.NoError(t, q.client.Status().Update(t.Context(), job))
	object := &v1alpha1.SequentialJob{}
	q.look()
	require.NoError(t, q.client.Get(t.Context(), keyOf(objectMeta("data", "s-00")), object))
	require.Equal(t, v1alpha1.PhaseFailed, object.Status.Phase)

	object.Annotations = map[string]string{v1alpha1.AnnotationRetry: "1"}
	require.NoError(t, q.client.Update(t.Context(), object))
	q.cache = withoutJobs{q.client}
	q.look()
	assert.Equal(t, job.UID, q.status("data", "s-00").Progress.DiscardedJob)
	q.look()
	require.Error(t, q.client.Get(t.Context(), keyOf(key), job), "it is deleted")
	q.look()
	assert.Equal(t, v1alpha1.PhaseRunning, q.status("data", "s-00").Phase)
	var published []string
	for len(recorder.Events) > 0 {
		published = append(published, strings.SplitN(<-recorder.Events, " ", 3)[1])
	}
	assert.Equal(t, []string{"JobStarted", "JobFailed", "Retry", "JobStarted"}, published)
}

package sequentialjob

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/test/harness/conditions"
)

// frozen is a client whose API server refuses changes of Jobs.
type frozen struct{ client.Client }

func (frozen) refuse() error {
	return apierrors.NewForbidden(batchv1.Resource("jobs"), "s-00-0", errors.New("no changes during the freeze"))
}

func (c frozen) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return c.refuse()
}

func (c frozen) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	return c.refuse()
}

func TestARefusedChangeOfAJobIsReportedAndTriedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(q *quota)
		says    string
		phase   v1alpha1.Phase // while it is refused
		then    v1alpha1.Phase
	}{
		"to suspend it": {
			prepare: func(q *quota) { q.freeze(); q.suspend(true) },
			says:    "refuses to suspend Job s-00-0", phase: v1alpha1.PhaseRunning, then: v1alpha1.PhaseSuspended,
		},
		"to resume it": {
			prepare: func(q *quota) { q.suspend(true); q.observeSuspension(); q.look(); q.freeze(); q.suspend(false) },
			says:    "refuses to resume Job s-00-0", phase: v1alpha1.PhaseSuspended, then: v1alpha1.PhaseRunning,
		},
		"to give it another deadline": {
			prepare: func(q *quota) {
				q.start()
				q.look()
				q.freeze()
				q.changeObject(func(object *v1alpha1.SequentialJob) { object.Spec.ActiveDeadlineSeconds = new(int64(9000)) })
			},
			says: "refuses to change the deadline of Job s-00-0", phase: v1alpha1.PhaseRunning, then: v1alpha1.PhaseRunning,
		},
		"to stop it": {
			prepare: func(q *quota) {
				q.freeze()
				q.changeObject(func(object *v1alpha1.SequentialJob) { object.Spec.ActiveDeadlineSeconds = new(int64(1)) })
				q.clock.SetTime(q.clock.Now().Add(time.Minute))
			},
			says: "refuses to stop Job s-00-0", phase: v1alpha1.PhaseRunning, then: v1alpha1.PhaseRunning,
		},
		"to delete it": {
			prepare: func(q *quota) {
				q.changeStatus(failedFor("BackoffLimitExceeded"))
				q.look()
				q.freeze()
				q.changeObject(func(object *v1alpha1.SequentialJob) {
					object.Annotations = map[string]string{v1alpha1.AnnotationRetry: "1"}
				})
			},
			says: "refuses to delete Job s-00-0", phase: v1alpha1.PhasePending, then: v1alpha1.PhaseRunning,
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := newRunning(t)
			recorder := events.NewFakeRecorder(100)
			q.recorder = recorder
			tc.prepare(q)
			for range 5 {
				q.look()
			}
			status := q.status("data", "s-00")
			assert.Contains(t, status.Message, tc.says)
			assert.Contains(t, status.Message, "no changes during the freeze")
			assert.Equal(t, tc.phase, status.Phase)
			assert.Equal(t, v1alpha1.ReasonJobUpdateFailed, progressingReason(status))
			conditions.Check(t, conditions.OfSequentialJobs, status.Conditions)
			if reconciling := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReconciling); reconciling != nil {
				assert.Equal(t, v1alpha1.ReasonJobUpdateFailed, reconciling.Reason, "it is the same as Progressing")
			}
			published := 0
			for len(recorder.Events) > 0 {
				if strings.HasPrefix(<-recorder.Events, "Warning JobUpdateFailed") {
					published++
				}
			}
			assert.Equal(t, 1, published, "events that say so")

			q.writer = q.client
			q.pass(time.Minute)
			q.observeSuspension()
			q.look()
			q.look()
			status = q.status("data", "s-00")
			assert.Equal(t, tc.then, status.Phase)
			assert.NotContains(t, status.Message, "refuses")
		})
	}
}

func TestStatusFollowsAJobThatCannotBeGivenAnotherDeadline(t *testing.T) {
	q := newRunning(t)
	q.change("s-00-0", func(job *batchv1.Job) { job.Spec.Suspend = new(true) })
	q.observeSuspension()
	q.look()
	require.Equal(t, v1alpha1.PhasePending, q.status("data", "s-00").Phase, "a queue holds it")
	q.writer = frozen{q.client}
	q.changeObject(func(object *v1alpha1.SequentialJob) { object.Spec.ActiveDeadlineSeconds = new(int64(9000)) })
	q.change("s-00-0", func(job *batchv1.Job) { job.Spec.Suspend = new(false) })
	q.changeStatus(func(job *batchv1.Job) { resumedAt(new(metav1.NewTime(q.clock.Now())))(job) })
	q.look()
	status := q.status("data", "s-00")
	assert.Equal(t, v1alpha1.PhaseRunning, status.Phase)
	assert.NotNil(t, status.StartTime, "the time runs")
	assert.Equal(t, v1alpha1.ReasonJobUpdateFailed, progressingReason(status))
}

func (q *quota) freeze() {
	q.look()
	q.writer = frozen{q.client}
}

func (q *quota) changeObject(change func(*v1alpha1.SequentialJob)) {
	q.Helper()
	object := &v1alpha1.SequentialJob{}
	require.NoError(q, q.client.Get(q.Context(), keyOf(objectMeta("data", "s-00")), object))
	change(object)
	require.NoError(q, q.client.Update(q.Context(), object))
}

// changeStatus changes the status of the first step's Job, as the Job controller does.
func (q *quota) changeStatus(change func(*batchv1.Job)) {
	q.Helper()
	job := &batchv1.Job{}
	require.NoError(q, q.client.Get(q.Context(), keyOf(objectMeta("data", "s-00-0")), job))
	change(job)
	require.NoError(q, q.client.Status().Update(q.Context(), job))
}

func (q *quota) start() { q.changeStatus(startedAt(new(metav1.NewTime(q.clock.Now())))) }

// observeSuspension makes the Job controller observe that a Job is suspended.
func (q *quota) observeSuspension() {
	q.look()
	q.changeStatus(func(job *batchv1.Job) {
		if isSuspended(job) {
			suspendedByOther(job)
		}
	})
}

// A create whose answer was an error may have been made all the same.
func TestARefusedChangeKeepsNoOtherFromTrying(t *testing.T) {
	q := newQuota(t, map[string]int{"full": 2})
	q.pass(time.Hour)
	key := keyOf(objectMeta("full", "s-00"))
	object := &v1alpha1.SequentialJob{}
	require.NoError(t, q.client.Get(t.Context(), key, object))
	q.refuses = func(*batchv1.Job) error { return nil }
	require.NoError(t, q.client.Create(t.Context(), newJob(object, 0, jobDeadline{})))
	object.Spec.Suspend = true
	require.NoError(t, q.client.Update(t.Context(), object))
	q.writer = frozen{q.client}
	q.wake(key, 0)
	q.pass(2 * maxRetry)
	assert.Equal(t, v1alpha1.ReasonJobUpdateFailed, progressingReason(q.status("full", "s-00")))
	assert.Equal(t, v1alpha1.PhaseRunning, q.status("full", "s-01").Phase)
	assert.Empty(t, q.refusals.namespaces)
}

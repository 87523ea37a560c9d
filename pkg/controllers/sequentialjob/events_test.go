package sequentialjob

import (
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"

	"example.com/podsequence/apis/batch/v1alpha1"
)

func TestEventsFor(t *testing.T) {
	none := v1alpha1.SequentialJobStatus{}
	status := func(w *worldWrapper) v1alpha1.SequentialJobStatus {
		d := decide(w.world)
		assert.Equal(t, nothing, d.write)
		return d.status
	}
	first := status(makeWorld(2).job(0))
	second := status(makeWorld(2).job(0, complete).job(1))
	succeeded := status(makeWorld(2).job(0, complete).job(1, complete))
	failed := status(makeWorld(2).job(0, failedFor("BackoffLimitExceeded")))
	deadlineOver := status(makeWorld(2).at(0).job(0, stopped, failedFor("DeadlineExceeded")).spec(deadline(1)))
	suspended := status(makeWorld(2).job(0, suspendedByUs).spec(suspend))
	conflict := status(makeWorld(2).obstructed(obstacle{reason: "JobNameConflict", message: "not ours", final: true}))
	refused := status(makeWorld(2).obstructed(obstacle{reason: "JobCreateFailed", message: "exceeded quota"}))
	waiting := status(makeWorld(2).obstructed(obstacle{reason: "WaitingForOldJob", message: "an earlier Job"}))
	restored := status(makeWorld(2).restored())

	retried := first
	retried.State.Active = 0
	retried.Message = `step 1/2 "step-0" runs again`
	resumed := status(makeWorld(2).at(0).spec(suspend).job(0, suspendedByUs, func(job *batchv1.Job) { job.Spec.Suspend = new(false) }))

	for name, tc := range map[string]struct {
		before, after v1alpha1.SequentialJobStatus
		want          []event
	}{
		"a status that says the same tells nothing": {before: first, after: first},
		"the first step is started": {before: none, after: first, want: []event{
			{"Normal", "JobStarted", "Run", 0, `step 1/2 "step-0" started as Job etl-0`},
		}},
		"a step is completed and the next is started": {before: first, after: second, want: []event{
			{"Normal", "JobCompleted", "Observe", 0, `step 1/2 "step-0" completed in Job etl-0`},
			{"Normal", "JobStarted", "Run", 1, `step 2/2 "step-1" started as Job etl-1`},
		}},
		"the last step is completed": {before: second, after: succeeded, want: []event{
			{"Normal", "JobCompleted", "Observe", 1, `step 2/2 "step-1" completed in Job etl-1`},
		}},
		"what happened unseen is reported in its order": {before: none, after: second, want: []event{
			{"Normal", "JobStarted", "Run", 0, `step 1/2 "step-0" started as Job etl-0`},
			{"Normal", "JobCompleted", "Observe", 0, `step 1/2 "step-0" completed in Job etl-0`},
			{"Normal", "JobStarted", "Run", 1, `step 2/2 "step-1" started as Job etl-1`},
		}},
		"it was restored": {before: none, after: restored, want: []event{
			{"Warning", "Restored", "Observe", 0, "was restored from a backup without its status, so its steps may have run before: " +
				"delete it, or run them with: kubectl -n data label sjob/etl velero.io/restore-name-"},
		}},
		"it is still as it was restored": {before: restored, after: restored},
		"a step has failed": {before: first, after: failed, want: []event{
			{"Warning", "JobFailed", "Observe", 0, `step 1/2 "step-0": Job etl-0 failed: BackoffLimitExceeded: it failed`},
		}},
		"the deadline is over": {before: first, after: deadlineOver, want: []event{
			{"Warning", "DeadlineExceeded", "Observe", 0, `not completed within 1 seconds, stopped in step 1/2 "step-0"`},
		}},
		"a failure is reported once":              {before: failed, after: failed},
		"a step that is suspended is not started": {before: first, after: suspended},
		"nor when it is resumed":                  {before: suspended, after: first},
		"somebody else's Job": {before: none, after: conflict, want: []event{
			{"Warning", "JobNameConflict", "Observe", 0, `step 1/2 "step-0": not ours`},
		}},
		"a Job is refused for now": {before: none, after: refused, want: []event{
			{"Warning", "JobCreateFailed", "Run", 0, `step 1/2 "step-0": exceeded quota`},
		}},
		"a failed step is about to run again": {before: failed, after: retried, want: []event{
			{"Normal", "Retry", "Run", 0, `step 1/2 "step-0" runs again`},
		}},
		"it has another Job": {before: retried, after: first, want: []event{
			{"Normal", "JobStarted", "Run", 0, `step 1/2 "step-0" started as Job etl-0`},
		}},
		"a Job that somebody else resumed is deleted": {before: first, after: resumed, want: []event{
			{"Warning", "JobDiscarded", "Observe", 0, resumed.Message},
		}},
		"that is published once": {before: resumed, after: resumed},
		"waiting tells nothing":  {before: none, after: waiting},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, eventsFor(makeWorld(2).object, tc.before, tc.after))
		})
	}
}

package sequentialjob

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
)

func TestWhatToWriteNext(t *testing.T) {
	for name, tc := range map[string]struct {
		world *worldWrapper
		want  write
		wake  time.Time
	}{
		"the first step is started":                  {world: makeWorld(3), want: createJob},
		"a step that runs is left to run":            {world: makeWorld(3).at(0).job(0), want: nothing},
		"a step whose pods succeeded still runs":     {world: makeWorld(3).at(0).job(0, allPodsSucceeded), want: nothing},
		"a complete step is followed by the next":    {world: makeWorld(3).at(0).job(0, complete), want: createJob},
		"a Job that no status has noted yet counts":  {world: makeWorld(3).job(0), want: nothing},
		"a failed step is followed by none":          {world: makeWorld(3).at(0).job(0, failedFor("BackoffLimitExceeded")), want: nothing},
		"a step whose Job vanished is not run again": {world: makeWorld(3).at(1), want: nothing},
		"a step whose Job was deleted once it was noted as completed is not run again": {
			world: makeWorld(3).at(2).job(2), want: nothing,
		},
		"a step is not run again when the next has a Job, whatever status says": {
			world: makeWorld(3).at(0).job(1), want: nothing,
		},
		"nor when no status says anything":       {world: makeWorld(3).job(1), want: nothing},
		"the last step is followed by none":      {world: makeWorld(2).at(1).job(0, complete).job(1, complete), want: nothing},
		"what is in the way is not tried again":  {world: makeWorld(3).obstructed(obstacle{reason: "X"}), want: nothing},
		"nothing is started while it is deleted": {world: makeWorld(3).deleted(), want: nothing},
		"nothing is started of a spec that cannot be run": {
			world: makeWorld(0), want: nothing,
		},
		"a step is stopped when the spec cannot be run": {
			world: makeWorld(2).at(0).job(0).spec(func(s *v1alpha1.SequentialJobSpec) { s.Containers[1].Image = "" }), want: stopJob,
		},

		"a step that runs is not stopped when the podFailurePolicy of those to come is wrong": {
			world: makeWorld(2).at(0).job(0).spec(failurePolicy(exitCodes(new("stpe-1")))), want: nothing,
		},
		"nothing is started with a podFailurePolicy that is wrong": {
			world: makeWorld(2).at(0).job(0, complete).spec(failurePolicy(exitCodes(new("stpe-1")))), want: nothing,
		},
		"a step of an object that cannot be decoded is stopped": {
			world: makeWorld(0).undecodable("x").at(1).job(1), want: stopJob,
		},
		"a Job that counts no more is deleted before the spec is looked at": {
			world: makeWorld(2).at(0).job(0, active).spec(func(s *v1alpha1.SequentialJobSpec) { s.Containers[1].Image = "" }).
				status(func(s *v1alpha1.SequentialJobStatus) { s.State.Active, s.Progress.DiscardedJob = 0, "job-0" }),
			want: deleteJob,
		},
		"nothing is started of an object that cannot be decoded": {world: makeWorld(2).undecodable("x"), want: nothing},

		"a running step is suspended":         {world: makeWorld(3).at(0).job(0).spec(suspend), want: suspendJob},
		"a suspended step is left so":         {world: makeWorld(3).at(0).job(0, suspendedByUs).spec(suspend), want: nothing},
		"while suspended, none is started":    {world: makeWorld(3).spec(suspend), want: nothing},
		"while suspended, none follows":       {world: makeWorld(3).at(0).job(0, complete).spec(suspend), want: nothing},
		"a step that we suspended is resumed": {world: makeWorld(3).at(0).job(0, suspendedByUs), want: resumeJob},
		"a step that we suspended is resumed although its pods have yet to end": {
			world: makeWorld(3).at(0).job(0, suspendedByUs, active), want: resumeJob,
		},
		"a step that others suspended is not": {world: makeWorld(3).at(0).job(0, suspendedByOther), want: nothing},
		"nor is one that others suspended as it was created": {
			world: makeWorld(3).job(0, createdSuspended, limitedTo(60)).spec(deadline(60)), want: nothing,
		},
		"no deadline passes while others keep a step suspended": {
			world: makeWorld(3).at(0).job(0, suspendedByOther, limitedTo(20)).spec(deadline(60)), want: nothing,
		},
		"the last step may complete while suspended": {world: makeWorld(1).at(0).job(0, complete).spec(suspend), want: nothing},

		"nothing is started of an object that was restored without status": {world: makeWorld(2).restored(), want: nothing},
		"nor after status has said so": {
			world: makeWorld(2).restored().progressing(v1alpha1.ReasonRestored), want: nothing,
		},
		"nor when it was suspended before its first step and is resumed": {
			world: makeWorld(2).restored().progressing(v1alpha1.ReasonSuspended), want: nothing,
		},
		"a restored object whose status was restored too goes on": {
			world: makeWorld(3).restored().status(func(s *v1alpha1.SequentialJobStatus) { s.Progress.CompletedIndices = []int32{0} }), want: createJob,
		},
		"a restored object whose first step is asked to run again goes on": {
			world: makeWorld(2).restored().progressing(v1alpha1.ReasonRetry), want: createJob,
		},
		"a step that runs is left to run when its object gets the label of a restore": {
			world: makeWorld(2).restored().job(0, suspendedByUs), want: resumeJob,
		},

		"before the deadline it sleeps until then": {
			world: makeWorld(3).at(0).job(0).spec(deadline(90)), want: nothing, wake: seconds(30).Time,
		},
		"at the deadline the step is stopped": {world: makeWorld(3).at(0).job(0).spec(deadline(60)), want: stopJob},
		"a step is stopped once":              {world: makeWorld(3).at(0).job(0, stopped).spec(deadline(60)), want: nothing},
		"at the deadline the next is not started": {
			world: makeWorld(3).at(0).job(0, complete).spec(deadline(60)), want: nothing,
		},
		"there is no deadline while suspended": {
			world: makeWorld(3).at(0).job(0, suspendedByUs).spec(suspend).spec(deadline(60)), want: nothing,
		},

		"what has finished stays without a time to live": {world: makeWorld(1).status(finishedAt(seconds(-60))), want: nothing},
		"what has finished is kept until its time is over": {
			world: makeWorld(1).status(finishedAt(seconds(-60))).spec(timeToLive(90)), want: nothing, wake: seconds(30).Time,
		},
		"what has finished is deleted when its time is over": {
			world: makeWorld(1).status(finishedAt(seconds(-60))).spec(timeToLive(60)), want: deleteObject,
		},
		"what has finished starts nothing": {world: makeWorld(3).status(finishedAt(seconds(-60))), want: nothing},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(tc.world.world)
			assert.Equal(t, tc.want, d.write)
			if d.write == nothing {
				assert.Equal(t, tc.wake, d.wake)
			}
		})
	}
}

func TestWhatStatusSays(t *testing.T) {
	for name, tc := range map[string]struct {
		world   *worldWrapper
		phase   v1alpha1.Phase
		step    string
		message string
		reason  string // of the condition Failed, if it is true
		cause   string
		current int32
	}{
		"running": {
			world: makeWorld(3).at(0).job(0, complete).job(1), phase: v1alpha1.PhaseRunning, step: "2/3", current: 1,
			message: `step 2/3 "step-1" runs in Job etl-1`,
		},
		"running, and the next step cannot": {
			world: makeWorld(2).at(0).job(0).spec(failurePolicy(exitCodes(new("stpe-1")))), phase: v1alpha1.PhaseRunning, step: "1/2",
			message: `step 1/2 "step-0" runs in Job etl-0; the next step cannot be run: spec.podFailurePolicy.rules[0].` +
				`onExitCodes.containerName: there is no step and no init container "stpe-1"`,
		},
		"the next step cannot be run": {
			world: makeWorld(2).at(0).job(0, complete).spec(failurePolicy(exitCodes(new("stpe-1")))), phase: v1alpha1.PhaseFailed,
			step: "2/2", current: 1, reason: "InvalidSpec", cause: "InvalidSpec",
			message: `spec.podFailurePolicy.rules[0].onExitCodes.containerName: there is no step and no init container "stpe-1"`,
		},
		"succeeded": {
			world: makeWorld(2).at(1).job(1, complete), phase: v1alpha1.PhaseSucceeded, step: "2/2", current: 2,
			message: "all 2 steps are completed",
		},
		"succeeded, whatever became of the Jobs": {
			world: makeWorld(2).at(2), phase: v1alpha1.PhaseSucceeded, step: "2/2", current: 2, message: "all 2 steps are completed",
		},
		"succeeded after the deadline, since nothing is left to stop": {
			world: makeWorld(1).at(0).job(0, complete).spec(deadline(1)), phase: v1alpha1.PhaseSucceeded, step: "1/1", current: 1,
			message: "all 1 steps are completed",
		},
		"failed": {
			world: makeWorld(3).at(1).job(1, failedFor("BackoffLimitExceeded")), phase: v1alpha1.PhaseFailed, step: "2/3", current: 1,
			reason: "JobFailed", cause: "BackoffLimitExceeded",
			message: `step 2/3 "step-1": Job etl-1 failed: BackoffLimitExceeded: it failed`,
		},
		"failed while suspended": {
			world: makeWorld(1).at(0).job(0, failedFor("PodFailurePolicy")).spec(suspend), phase: v1alpha1.PhaseFailed, step: "1/1",
			reason: "JobFailed", cause: "PodFailurePolicy",
			message: `step 1/1 "step-0": Job etl-0 failed: PodFailurePolicy: it failed`,
		},
		"the Job is gone": {
			world: makeWorld(3).at(1), phase: v1alpha1.PhaseFailed, step: "2/3", current: 1, reason: "JobDeleted", cause: "JobDeleted",
			message: `step 2/3 "step-1": Job etl-1 was deleted before it finished, and does not run again by itself`,
		},
		"the Job is about to go": {
			world: makeWorld(3).job(0, terminating), phase: v1alpha1.PhaseRunning, step: "1/3",
			message: `step 1/3 "step-0": Job etl-0 was deleted before it finished, and does not run again by itself; waiting for its pods to end`,
		},
		"a complete Job that is about to go is complete": {
			world: makeWorld(1).at(0).job(0, complete, terminating), phase: v1alpha1.PhaseSucceeded, step: "1/1", current: 1,
			message: "all 1 steps are completed",
		},
		"the deadline is over": {
			world: makeWorld(3).at(0).job(0, stopped, failedFor("DeadlineExceeded")).spec(deadline(60)),
			phase: v1alpha1.PhaseFailed, step: "1/3", reason: "DeadlineExceeded", cause: "DeadlineExceeded",
			message: `not completed within 60 seconds, stopped in step 1/3 "step-0"`,
		},
		"the deadline is over, and pods work on": {
			world: makeWorld(3).at(0).job(0, stopped, podsEnd).spec(deadline(60)), phase: v1alpha1.PhaseRunning, step: "1/3",
			message: `not completed within 60 seconds, stopped in step 1/3 "step-0"; waiting for its pods to end`,
		},
		"the deadline was over while nobody looked": {
			world: makeWorld(3).at(0).job(0, limitedTo(60), failedFor("DeadlineExceeded")).spec(deadline(60)),
			phase: v1alpha1.PhaseFailed, step: "1/3", reason: "DeadlineExceeded", cause: "DeadlineExceeded",
			message: `not completed within 60 seconds, stopped in step 1/3 "step-0"`,
		},
		"the deadline was over, and there is none any more": {
			world: makeWorld(1).at(0).job(0, stopped, failedFor("DeadlineExceeded")), phase: v1alpha1.PhaseFailed, step: "1/1",
			reason: "DeadlineExceeded", cause: "DeadlineExceeded", message: `stopped in step 1/1 "step-0"`,
		},
		"a deadline that somebody else gave the Job is over": {
			world: makeWorld(1).at(0).spec(deadline(90)).
				job(0, func(job *batchv1.Job) { job.Spec.ActiveDeadlineSeconds = ptr.To[int64](5) }, failedFor("DeadlineExceeded")),
			phase: v1alpha1.PhaseFailed, step: "1/1", reason: "JobFailed", cause: "DeadlineExceeded",
			message: `step 1/1 "step-0": Job etl-0 failed: DeadlineExceeded: it failed`,
		},
		"a queue holds the first step": {
			world: makeWorld(2).job(0, createdSuspended), phase: v1alpha1.PhasePending, step: "1/2",
			message: `step 1/2 "step-0": Job etl-0 was suspended by somebody else, such as a queueing system, and goes on when they resume it`,
		},
		"a queue takes a step back": {
			world: makeWorld(2).at(1).job(1, suspendedByOther), phase: v1alpha1.PhasePending, step: "2/2", current: 1,
			message: `step 2/2 "step-1": Job etl-1 was suspended by somebody else, such as a queueing system, and goes on when they resume it`,
		},
		"a queue takes a step back, and pods work on": {
			world: makeWorld(2).at(1).job(1, suspendedByOther, podsEnd), phase: v1alpha1.PhaseRunning, step: "2/2", current: 1,
			message: `step 2/2 "step-1" runs in Job etl-1`,
		},
		"suspended in a step": {
			world: makeWorld(3).at(1).job(1, suspendedByUs).spec(suspend), phase: v1alpha1.PhaseSuspended, step: "2/3", current: 1,
			message: `suspended in step 2/3 "step-1"`,
		},
		"suspended in a step, and pods work on": {
			world: makeWorld(3).at(1).job(1, suspendedByUs, active).spec(suspend), phase: v1alpha1.PhaseRunning, step: "2/3", current: 1,
			message: `suspended in step 2/3 "step-1"; waiting for its pods to end`,
		},
		"suspended in a step, and the Job controller has not seen it": {
			world: makeWorld(3).at(1).spec(suspend).job(1, suspendedByUs, func(job *batchv1.Job) { job.Status.Conditions = nil }),
			phase: v1alpha1.PhaseRunning, step: "2/3", current: 1,
			message: `suspended in step 2/3 "step-1"; waiting for its pods to end`,
		},
		"suspended between steps": {
			world: makeWorld(3).at(0).job(0, complete).spec(suspend), phase: v1alpha1.PhaseSuspended, step: "2/3", current: 1,
			message: `suspended before step 2/3 "step-1"`,
		},
		"something is in the way for now": {
			world: makeWorld(3).obstructed(obstacle{reason: "JobCreateFailed", message: "exceeded quota"}),
			phase: v1alpha1.PhasePending, step: "1/3", message: `step 1/3 "step-0": exceeded quota`,
		},
		"something is in the way permanently": {
			world: makeWorld(3).obstructed(obstacle{reason: "JobNameConflict", message: "not ours", final: true}),
			phase: v1alpha1.PhaseFailed, step: "1/3", reason: "JobNameConflict", cause: "JobNameConflict",
			message: `step 1/3 "step-0": not ours`,
		},
		"the spec cannot be run": {
			world: makeWorld(0), phase: v1alpha1.PhaseFailed, step: "0/0", reason: "InvalidSpec", cause: "InvalidSpec",
			message: "spec.containers: there must be 1 to 64 steps, not 0",
		},
		"the object cannot be decoded any more, and its step has stopped": {
			world: makeWorld(0).undecodable("what is this").at(2).job(2, stopped, failedFor("DeadlineExceeded")),
			phase: v1alpha1.PhaseFailed, step: "3/?", current: 2,
			reason: "InvalidSpec", cause: "InvalidSpec", message: "what is this",
		},
		"the object cannot be decoded any more, and its step is stopping": {
			world: makeWorld(4).undecodable("what is this").at(2).job(2, stopped, active),
			phase: v1alpha1.PhaseRunning, step: "3/4", current: 2, message: "what is this; waiting for its pods to end",
		},
		"the object cannot be decoded any more, and has completed": {
			world: makeWorld(2).undecodable("what is this").at(1).job(1, complete), phase: v1alpha1.PhaseSucceeded, step: "2/2",
			current: 2, message: "all 2 steps are completed",
		},
		"neither the object nor its status can be decoded": {
			world: makeWorld(0).undecodable("what is this").job(0, complete).job(1, stopped, failedFor("DeadlineExceeded")),
			phase: v1alpha1.PhaseFailed, step: "2/?", current: 1, reason: "InvalidSpec", cause: "InvalidSpec", message: "what is this",
		},
		"the object cannot be decoded": {
			world: makeWorld(0).undecodable("what is this"), phase: v1alpha1.PhaseFailed, step: "1/?",
			reason: "InvalidSpec", cause: "InvalidSpec", message: "what is this",
		},
		"status notes more steps than there are": {
			world: makeWorld(1).at(5), phase: v1alpha1.PhaseSucceeded, step: "1/1", current: 1, message: "all 1 steps are completed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(tc.world.world)
			assert.Equal(t, nothing, d.write)
			assert.Equal(t, tc.phase, d.status.Phase)
			assert.Equal(t, tc.step, d.status.Step)
			assert.Equal(t, tc.message, d.status.Message)
			assert.Equal(t, tc.reason, failureReason(d.status))
			assert.Equal(t, tc.cause, d.status.Progress.FailureReason)
			assert.Equal(t, ptr.To(tc.current), d.status.Progress.CurrentIndex)
			assert.Len(t, d.status.Progress.CompletedIndices, int(tc.current))
			assert.Equal(t, tc.reason != "", d.status.Progress.FailedIndex != nil)
			finished := tc.phase == v1alpha1.PhaseSucceeded || tc.phase == v1alpha1.PhaseFailed
			assert.Equal(t, finished, d.status.CompletionTime != nil)
			for _, kind := range []string{"Complete", "Available", "Progressing", "Failed", "Suspended", "Ready"} {
				assert.NotNil(t, meta.FindStatusCondition(d.status.Conditions, kind), kind)
			}
			assert.LessOrEqual(t, len(d.status.Conditions), 7, "Reconciling or Stalled, and not both")

			// Deciding once more, with that status, changes nothing.
			tc.world.object.Status = d.status
			tc.world.now = noon.Add(time.Hour)
			if finished {
				tc.world.object.Spec.ActiveDeadlineSeconds = nil
			}
			assert.Equal(t, d.status, decide(tc.world.world).status)
		})
	}
}

func TestResumeBeginsTheTimeAnew(t *testing.T) {
	w := makeWorld(1).at(0).job(0, suspendedByUs).spec(suspend)
	w.object.Status = decide(w.world).status
	assert.Nil(t, w.object.Status.StartTime)
	w.object.Spec.Suspend = false
	w.job(0)
	assert.Equal(t, seconds(0), decide(w.world).status.StartTime)
}

func TestANewJob(t *testing.T) {
	w := makeWorld(2).spec(func(s *v1alpha1.SequentialJobSpec) {
		s.Template.Labels = map[string]string{"team": "data", v1alpha1.LabelName: "not yours"}
		s.Template.Annotations = map[string]string{v1alpha1.AnnotationSuspended: "true", "note": "shared"}
	})
	job := newJob(w.object, 1, jobDeadline{})
	assert.Equal(t, "etl-1", job.Name)
	assert.Equal(t, int32(0), *job.Spec.BackoffLimit, "the first failure stops")
	assert.Equal(t, corev1.RestartPolicyNever, job.Spec.Template.Spec.RestartPolicy)
	assert.Equal(t, w.object.Spec.Containers[1:], job.Spec.Template.Spec.Containers)
	for _, metadata := range []batchv1.Job{*job, {ObjectMeta: job.Spec.Template.ObjectMeta}} {
		assert.Equal(t, map[string]string{"team": "data", v1alpha1.LabelName: "etl", v1alpha1.LabelStepIndex: "1"}, metadata.Labels)
		assert.Equal(t, map[string]string{"note": "shared"}, metadata.Annotations)
	}
	assert.True(t, isOurs(w.object, job))
	assert.Empty(t, w.object.Spec.Template.Spec.Containers, "the object is not changed")
}

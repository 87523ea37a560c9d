package sequentialjob

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
)

func used(seconds int64) func(*v1alpha1.SequentialJobStatus) {
	return func(status *v1alpha1.SequentialJobStatus) { status.UsedSeconds, status.StartTime = seconds, nil }
}

func TestWhenTheTimeRuns(t *testing.T) {
	for name, tc := range map[string]struct {
		world *worldWrapper
		start *metav1.Time
		used  int64
	}{
		"from when the first Job is created":     {world: makeWorld(1).job(0), start: seconds(0)},
		"from when it was started, if it was":    {world: makeWorld(1).job(0, startedAt(seconds(-9))), start: seconds(-9)},
		"from before, in the next step":          {world: makeWorld(2).at(1).job(1, startedAt(seconds(-9))), start: seconds(-60)},
		"not while the first Job is refused":     {world: makeWorld(1).obstructed(obstacle{reason: "X"})},
		"while a later Job is refused":           {world: makeWorld(2).at(1).status(func(s *v1alpha1.SequentialJobStatus) { s.State.Active = 0 }).obstructed(obstacle{reason: "X"}), start: seconds(-60)},
		"not while a queue holds the first Job":  {world: makeWorld(1).job(0, createdSuspended)},
		"not since a queue took the Job back":    {world: makeWorld(1).at(0).job(0, suspendedByOther), used: 40},
		"not while a queue holds it":             {world: makeWorld(1).at(0).job(0, suspendedByOther).status(used(40)), used: 40},
		"again when the queue resumes it":        {world: makeWorld(1).at(0).job(0, resumedAt(seconds(-5))).status(used(40)), start: seconds(-5), used: 40},
		"not while it is suspended":              {world: makeWorld(1).at(0).job(0, suspendedByUs).spec(suspend)},
		"not while it is suspended in the queue": {world: makeWorld(1).at(0).job(0, suspendedByOther).status(used(40)).spec(suspend)},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(tc.world.world)
			assert.Equal(t, nothing, d.write)
			assert.Equal(t, tc.start, d.status.StartTime)
			assert.Equal(t, tc.used, d.status.UsedSeconds)
		})
	}
}

func TestTheTimeIsOverAtTheDeadline(t *testing.T) {
	w := makeWorld(1).at(0).job(0).spec(deadline(60))
	w.now = seconds(0).Add(-1)
	assert.Equal(t, seconds(0).Time, decide(w.world).wake)
	w.now = seconds(0).Time
	assert.Equal(t, stopJob, decide(w.world).write, "it is woken then, and never again")
}

func TestAJobHasTheRestOfTheTime(t *testing.T) {
	other := func(job *batchv1.Job) { job.Spec.ActiveDeadlineSeconds = ptr.To[int64](5) }
	for name, tc := range map[string]struct {
		world *worldWrapper
		write write
		want  *int64
	}{
		"all of it, the first":              {world: makeWorld(2).spec(deadline(90)), write: createJob, want: new(int64(90))},
		"what is left, the next":            {world: makeWorld(2).at(0).job(0, complete).spec(deadline(90)), write: createJob, want: new(int64(30))},
		"none, where there is none":         {world: makeWorld(2), write: createJob},
		"all of it, after a suspension":     {world: makeWorld(1).at(0).job(0, suspendedByUs).status(used(0)).spec(deadline(90)), write: resumeJob, want: new(int64(90))},
		"what it was given, and no more":    {world: makeWorld(1).at(0).job(0, limitedTo(90), startedAt(seconds(-60))).spec(deadline(90)), write: nothing},
		"as much as it takes to start, too": {world: makeWorld(1).at(0).job(0, limitedTo(90), startedAt(seconds(-51))).spec(deadline(90)), write: nothing},
		"less, when it started late":        {world: makeWorld(1).at(0).job(0, limitedTo(90), startedAt(seconds(-40))).spec(deadline(90)), write: limitJob, want: new(int64(70))},
		"less, when a queue took it back":   {world: makeWorld(1).at(0).job(0, limitedTo(90), resumedAt(seconds(-5))).status(used(40)).spec(deadline(90)), write: limitJob, want: new(int64(50))},
		"more, when there is more":          {world: makeWorld(1).at(0).job(0, limitedTo(90), startedAt(seconds(-60))).spec(deadline(91)), write: limitJob, want: new(int64(91))},
		"any, when there is one now":        {world: makeWorld(1).at(0).job(0, startedAt(seconds(-60))).spec(deadline(90)), write: limitJob, want: new(int64(90))},
		"none, when there is none any more": {world: makeWorld(1).at(0).job(0, limitedTo(90), startedAt(seconds(-60))), write: limitJob},
		"more, in the queue":                {world: makeWorld(1).job(0, createdSuspended, limitedTo(1)).spec(deadline(90)), write: limitJob, want: new(int64(90))},
		"the rest, back in the queue":       {world: makeWorld(1).at(0).job(0, suspendedByOther, limitedTo(90)).spec(deadline(90)), write: limitJob, want: new(int64(50))},
		"the same, in the queue":            {world: makeWorld(1).job(0, createdSuspended, limitedTo(90)).spec(deadline(90)), write: nothing},
		"what it was given, when it started in the future by another clock": {
			world: makeWorld(1).at(0).job(0, limitedTo(90), startedAt(seconds(120))).spec(deadline(90)), write: nothing,
		},
		"what somebody else gave it": {world: makeWorld(1).at(0).job(0, other, startedAt(seconds(-60))).spec(deadline(90)), write: nothing},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(tc.world.world)
			assert.Equal(t, tc.write, d.write)
			assert.Equal(t, tc.want, d.deadline.seconds)
			switch d.write {
			case createJob:
				job := newJob(tc.world.object, 0, d.deadline)
				assert.Equal(t, tc.want, job.Spec.ActiveDeadlineSeconds)
				assert.True(t, isOursToSet(job))
			case resumeJob:
				assert.Equal(t, tc.want, resumePatch(tc.world.jobs[0], d.deadline).Spec["activeDeadlineSeconds"])
			case limitJob:
				assert.Equal(t, tc.want, limitPatch(tc.world.jobs[0], d.deadline).Spec["activeDeadlineSeconds"])
			}
		})
	}
}

func TestASuspensionTakesNoTimeHoweverLongPodsTakeToEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		job   func(*batchv1.Job)
		write write
	}{
		"of a Job that we suspended": {job: suspendedByUs, write: resumeJob},
		"of one that somebody else resumed, and that is deleted": {
			job:   func(job *batchv1.Job) { suspendedByUs(job); job.Spec.Suspend = new(false) },
			write: createJob,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := makeWorld(1).at(0).job(0, tc.job, active).spec(suspend).spec(deadline(90))
			w.object.Status = decide(w.world).status
			assert.Equal(t, v1alpha1.PhaseRunning, w.object.Status.Phase, "its pods have yet to end")
			w.now = noon.Add(time.Hour)
			if tc.write == createJob {
				delete(w.jobs, 0)
			}
			w.object.Spec.Suspend = false
			d := decide(w.world)
			assert.Equal(t, tc.write, d.write)
			assert.Equal(t, new(int64(90)), d.deadline.seconds)
		})
	}
}

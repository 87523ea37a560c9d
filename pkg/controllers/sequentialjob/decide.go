package sequentialjob

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// world is all that a decision depends on.
type world struct {
	object *v1alpha1.SequentialJob
	// stored is the object as it is stored, with fields that the Go type does not have.
	stored map[string]any
	// unreadable is why the object's spec could not be decoded; empty if it was.
	unreadable string
	// jobs are the Jobs of the steps that the object controls, by index.
	jobs map[int32]*batchv1.Job
	// obstacle is why the Job of the step it is at could not be created; nil if nobody tried, or it was.
	obstacle *obstacle
	// heard is what the pods of the step it is at say that keeps them from their work, as status may say it now, and heardLast what
	// they said last; empty for nothing. hearAgain is when status may say what they said last; zero if it does.
	heard     word
	heardLast string
	hearAgain time.Time
	now       time.Time
}

// obstacle is why a Job could not be created.
type obstacle struct {
	reason  string
	message string
	// step is the index of the step that it is about; nil for the one it is at.
	step *int32
	// final is true if trying again would not help.
	final bool
}

// write is something to be written besides status.
type write int

const (
	nothing      write = iota
	createJob          // of the step it is at
	suspendJob         // of the step it is at
	resumeJob          // of the step it is at
	limitJob           // of the step it is at: give it another deadline
	stopJob            // of the step it is at
	deleteJob          // of the step it is at, which runs again
	deleteObject       // its time to live is over
)

// decision is what to do next. After the write the world is another, and is decided on anew: status is only that of a
// decision with nothing to write.
type decision struct {
	write  write
	status v1alpha1.SequentialJobStatus
	// wake is when to decide again although nothing happened by then; zero for never.
	wake time.Time
	// deadline is that of the Job that is created, resumed or limited.
	deadline jobDeadline
}

// decide is a pure function: the same world, the same decision.
func decide(w world) decision {
	if w.object.DeletionTimestamp != nil {
		return decision{status: w.object.Status} // the garbage collector does the rest
	}
	if hasEndedBefore(w.object.Status) {
		return decision{status: takenOver(w)}
	}
	if w.object.Status.CompletionTime != nil {
		return decideFinished(w)
	}
	p := progressOf(w)
	if p.steps > 0 && p.current == p.steps {
		return decision{status: succeeded(w, p)}
	}
	if p.discarded != nil {
		return decideDiscarded(w, p)
	}
	if problem := w.invalid(p); problem != "" {
		return stopAndFail(w, p, failure{reason: v1alpha1.ReasonInvalidSpec, message: problem})
	}
	if f := stepFailure(w, p); f != nil {
		return decideFailed(w, p, *f)
	}
	if w.object.Spec.Suspend {
		return decideSuspended(w, p)
	}
	if isRestoredBlank(w, p) {
		return decision{status: restored(w, p)}
	}
	return decideRunning(w, p)
}

// isRestoredBlank reports whether a backup tool restored the object, and nothing says how many of its steps were completed. Backup tools
// leave out Jobs that have ended and, unless told otherwise, status. Even a status that is restored comes with a later write.
func isRestoredBlank(w world, p progress) bool {
	if _, marked := w.object.Labels[v1alpha1.LabelRestored]; !marked || p.current > 0 || p.job != nil {
		return false
	}
	switch progressingReason(w.object.Status) {
	case "", v1alpha1.ReasonRestored, v1alpha1.ReasonSuspended:
		return true
	}
	return false // it has tried to start the step, or is asked to run it again
}

// invalid is why the spec cannot be run; empty if it can. A Job keeps the podFailurePolicy that it was created with: a slip
// in a change of it is no reason to stop the step that runs.
func (w world) invalid(p progress) string {
	if w.unreadable != "" {
		return w.unreadable
	}
	spec := w.object.Spec
	if p.job != nil {
		spec.PodFailurePolicy = nil
	}
	return validate(&spec)
}

// decideFinished leaves everything as it is until a retry is asked for, or the time to live is over.
func decideFinished(w world) decision {
	if isRetryAsked(w.object) {
		return decision{status: retried(w)}
	}
	d := decision{status: *w.object.Status.DeepCopy()}
	d.status.ObservedGeneration = w.object.Generation
	ttl := w.object.Spec.TTLSecondsAfterFinished
	if ttl == nil || *ttl < 0 {
		return d
	}
	expiry := w.object.Status.CompletionTime.Add(time.Duration(*ttl) * time.Second)
	if w.now.Before(expiry) {
		d.wake = expiry
	} else {
		d.write = deleteObject
	}
	return d
}

func decideSuspended(w world, p progress) decision {
	switch {
	case p.job == nil:
		return decision{status: suspended(w, p)}
	case !isSuspended(p.job) && isMarkedSuspended(p.job):
		return decision{status: discarded(w, p)}
	case !isSuspended(p.job):
		return decision{write: suspendJob}
	case !isQuiet(p.job):
		return decision{status: suspending(w, p)}
	}
	return decision{status: suspended(w, p)}
}

func decideRunning(w world, p progress) decision {
	var d decision
	switch {
	case p.job == nil && w.obstacle == nil:
		d = decision{write: createJob, status: running(w, p)}
	case p.job == nil && w.obstacle.final:
		step := ptr.Deref(w.obstacle.step, p.current)
		message := p.at(w.object, step).step() + ": " + w.obstacle.message
		return decision{status: failed(w, p, failure{reason: w.obstacle.reason, message: message, step: &step})}
	case p.job == nil:
		d.status = pending(w, p)
	case isMarkedSuspended(p.job):
		d = decision{write: resumeJob, status: running(w, p)}
	case isSuspended(p.job) && isQuiet(p.job):
		return decideOnHold(w, p)
	default:
		d.status = running(w, p)
	}
	end := endOf(&w.object.Spec, d.status)
	if end != nil {
		if !w.now.Before(*end) {
			return stopAndFail(w, p, deadlineExceeded(w, p))
		}
		d.wake = *end
	}
	if d.write != nothing {
		d.deadline = deadlineFrom(w.now, end)
	} else if start := startOf(p.job); start != nil && !start.After(w.now) { // by a clock ahead of ours next to nothing would be left
		if deadline := deadlineFrom(start.Time, end); deadline.isNeeded(p.job) {
			d.write, d.deadline = limitJob, deadline
		}
	}
	return d
}

// decideOnHold leaves it to others to resume the Job, and sees that it has the right deadline when they do.
func decideOnHold(w world, p progress) decision {
	d := decision{status: held(w, p)}
	if deadline := deadlineOnHold(&w.object.Spec, d.status); deadline.isNeededOnHold(p.job) {
		d.write, d.deadline = limitJob, deadline
	}
	return d
}

// stillRuns is said of a step that has to stop, while its Job has pods.
const stillRuns = "; waiting for its pods to end"

// stopAndFail fails when the step it is at has stopped, if it runs.
func stopAndFail(w world, p progress, f failure) decision {
	if p.job != nil && failureOf(p.job) == nil && !isStopped(p.job) {
		return decision{write: stopJob, status: stopping(w, p, f)}
	}
	return decideFailed(w, p, f)
}

// decideFailed says that it has failed when no pod of the step it is at works any more, and until then that it will.
func decideFailed(w world, p progress, f failure) decision {
	if p.job == nil || failureOf(p.job) != nil || (isStopped(p.job) && isSuspended(p.job) && isQuiet(p.job)) {
		return decision{status: failed(w, p, f)}
	}
	f.message += stillRuns
	return decision{status: stopping(w, p, f)}
}

// stepFailure is why the step it is at has failed, or is about to; nil if it has not.
func stepFailure(w world, p progress) *failure {
	switch {
	case p.job == nil && !p.wasStarted(w.object.Status):
		return nil
	case p.job == nil:
		return jobDeleted(w, p)
	}
	if c := failureOf(p.job); c != nil {
		isOverdue := c.Reason == batchv1.JobReasonDeadlineExceeded || (c.Reason == batchv1.JobReasonBackoffLimitExceeded && wasOverdue(p.job, c))
		if isOverdue && hasOurDeadline(p.job) {
			return new(deadlineExceeded(w, p))
		}
		return &failure{
			reason:  v1alpha1.ReasonJobFailed,
			cause:   c.Reason,
			message: fmt.Sprintf("%s: Job %s failed: %s: %s", p.step(), p.job.Name, c.Reason, c.Message) + w.lastWord(),
		}
	}
	switch {
	case p.job.DeletionTimestamp != nil:
		return jobDeleted(w, p)
	case isStopped(p.job):
		return new(deadlineExceeded(w, p))
	}
	return nil
}

// wasOverdue reports whether the time of a Job was over when it failed. Its pods fail when it is stopped, and it may fail of that if the
// Job controller could not write why it stopped it.
func wasOverdue(job *batchv1.Job, failed *batchv1.JobCondition) bool {
	started, seconds := job.Status.StartTime, job.Spec.ActiveDeadlineSeconds
	return started != nil && seconds != nil && !failed.LastTransitionTime.Time.Before(started.Add(time.Duration(*seconds)*time.Second))
}

func jobDeleted(w world, p progress) *failure {
	if p.job == nil && w.object.Status.Phase == "" {
		return ranBefore(p, w.object.Name)
	}
	return &failure{
		reason: v1alpha1.ReasonJobDeleted,
		message: fmt.Sprintf("%s: Job %s was deleted before it finished, and does not run again by itself",
			p.step(), jobName(w.object.Name, p.current)),
	}
}

func deadlineExceeded(w world, p progress) failure {
	f := failure{reason: v1alpha1.ReasonDeadlineExceeded, message: "stopped in " + p.step()}
	if seconds := w.object.Spec.ActiveDeadlineSeconds; seconds != nil {
		f.message = fmt.Sprintf("not completed within %d seconds, %s", *seconds, f.message)
	}
	f.message += w.lastWord()
	return f
}

// lastWord continues a message with what the pods of the step said last.
func (w world) lastWord() string {
	if w.heardLast == "" {
		return ""
	}
	return "; " + w.heardLast
}

// seconds is the time as the API server keeps it: with a fraction, what is written would differ from what is read back.
func (w world) seconds() *metav1.Time {
	return ptr.To(metav1.NewTime(w.now.Truncate(time.Second)))
}

package sequentialjob

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// world is all that a decision depends on.
type world struct {
	object *v1alpha1.SequentialJob
	// unreadable is why the object's spec could not be decoded; empty if it was.
	unreadable string
	// jobs are the Jobs of the steps that the object controls, by index.
	jobs map[int32]*batchv1.Job
	// obstacle is why the Job of the step it is at could not be created; nil if nobody tried, or it was.
	obstacle *obstacle
	now      time.Time
}

// obstacle is why a Job could not be created.
type obstacle struct {
	reason  string
	message string
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
	stopJob            // of the step it is at
	deleteObject       // its time to live is over
)

// decision is what to do next. After the write the world is another, and is decided on anew: status is only that of a
// decision with nothing to write.
type decision struct {
	write  write
	status v1alpha1.SequentialJobStatus
	// wake is when to decide again although nothing happened by then; zero for never.
	wake time.Time
}

// decide is a pure function: the same world, the same decision.
func decide(w world) decision {
	if w.object.DeletionTimestamp != nil {
		return decision{status: w.object.Status} // the garbage collector does the rest
	}
	if w.object.Status.CompletionTime != nil {
		return decideFinished(w)
	}
	p := progressOf(w)
	if problem := w.invalid(); problem != "" {
		return stopAndFail(w, p, failure{reason: v1alpha1.ReasonInvalidSpec, message: problem})
	}
	if p.current == p.steps {
		return decision{status: succeeded(w, p)}
	}
	if f := stepFailure(w, p); f != nil {
		return decision{status: failed(w, p, *f)}
	}
	if w.object.Spec.Suspend {
		return decideSuspended(w, p)
	}
	return decideRunning(w, p)
}

func (w world) invalid() string {
	if w.unreadable != "" {
		return w.unreadable
	}
	return validate(&w.object.Spec)
}

// decideFinished leaves everything as it is until the time to live is over.
func decideFinished(w world) decision {
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
	if p.job != nil && !isSuspended(p.job) {
		return decision{write: suspendJob}
	}
	return decision{status: suspended(w, p)}
}

func decideRunning(w world, p progress) decision {
	d := decision{status: running(w, p)}
	if seconds := w.object.Spec.ActiveDeadlineSeconds; seconds != nil {
		d.wake = d.status.StartTime.Add(time.Duration(*seconds) * time.Second)
		if !w.now.Before(d.wake) {
			return stopAndFail(w, p, failure{
				reason:  v1alpha1.ReasonDeadlineExceeded,
				message: fmt.Sprintf("not completed within %d seconds, stopped in %s", *seconds, p.step()),
			})
		}
	}
	switch {
	case p.job == nil && w.obstacle == nil:
		d.write = createJob
	case p.job == nil && w.obstacle.final:
		return decision{status: failed(w, p, failure{reason: w.obstacle.reason, message: p.step() + ": " + w.obstacle.message})}
	case p.job == nil:
		d.status = pending(w, p)
	case isSuspendedByUs(p.job):
		d.write = resumeJob
	}
	return d
}

// stopAndFail fails once the running step, if there is one, is told to stop.
func stopAndFail(w world, p progress, f failure) decision {
	if p.job != nil && failureOf(p.job) == nil && !isStopped(p.job) {
		return decision{write: stopJob}
	}
	return decision{status: failed(w, p, f)}
}

// stepFailure is why the step it is at has failed; nil if it has not.
func stepFailure(w world, p progress) *failure {
	switch {
	case p.job == nil && !p.wasStarted(w.object.Status):
		return nil
	case p.job == nil, p.job.DeletionTimestamp != nil:
		return &failure{
			reason: v1alpha1.ReasonJobDeleted,
			message: fmt.Sprintf("%s: Job %s was deleted before it was finished, and is not run again",
				p.step(), jobName(w.object.Name, p.current)),
		}
	}
	c := failureOf(p.job)
	if c == nil {
		return nil
	}
	f := &failure{
		reason:  v1alpha1.ReasonJobFailed,
		cause:   c.Reason,
		message: fmt.Sprintf("%s: Job %s failed: %s: %s", p.step(), p.job.Name, c.Reason, c.Message),
	}
	// We stopped it, and came to an end before we could say so.
	if isStopped(p.job) && c.Reason == batchv1.JobReasonDeadlineExceeded {
		f.reason = v1alpha1.ReasonDeadlineExceeded
	}
	return f
}

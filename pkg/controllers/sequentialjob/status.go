package sequentialjob

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/internal/printable"
)

// failure is why no further step will run.
type failure struct {
	reason  string
	message string
	// cause is the Job's own reason where reason is only that the Job failed.
	cause string
	// step is the index of the step that failed; nil for the one it is at.
	step *int32
}

// succeeded is the status when all steps are completed.
func succeeded(w world, p progress) v1alpha1.SequentialJobStatus {
	s := newStatus(w, p)
	s.Phase = v1alpha1.PhaseSucceeded
	s.CompletionTime = w.seconds()
	s.Message = fmt.Sprintf("all %d steps are completed", p.steps)
	s.condition(v1alpha1.ConditionComplete, true, v1alpha1.ReasonCompletionsReached)
	s.condition(v1alpha1.ConditionAvailable, true, v1alpha1.ReasonCompleted)
	s.condition(v1alpha1.ConditionProgressing, false, v1alpha1.ReasonCompleted)
	return s.finish()
}

// failed is the status when no further step will run.
func failed(w world, p progress, f failure) v1alpha1.SequentialJobStatus {
	s := newStatus(w, p)
	s.Phase = v1alpha1.PhaseFailed
	s.CompletionTime = w.seconds()
	s.Message = f.message
	s.State.Active, s.State.Failed = 0, 1
	s.Progress.FailedIndex = ptr.To(ptr.Deref(f.step, p.current))
	s.Progress.FailureReason = f.reason
	if f.cause != "" {
		s.Progress.FailureReason = f.cause
	}
	s.condition(v1alpha1.ConditionComplete, false, f.reason)
	s.condition(v1alpha1.ConditionAvailable, false, f.reason)
	s.condition(v1alpha1.ConditionProgressing, false, f.reason)
	s.condition(v1alpha1.ConditionFailed, true, f.reason)
	return s.finish()
}

// suspended is the status while spec.suspend is true. As in batch/v1 there is no start time: it begins anew on resume.
func suspended(w world, p progress) v1alpha1.SequentialJobStatus {
	s := newStatus(w, p)
	s.Phase = v1alpha1.PhaseSuspended
	s.resetClock()
	s.Message = "suspended before " + p.step()
	if p.job != nil {
		s.Message = "suspended in " + p.step()
	}
	s.condition(v1alpha1.ConditionProgressing, false, v1alpha1.ReasonSuspended)
	s.condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended)
	return s.finish()
}

// suspending is the status while spec.suspend is true and the pods of the current step have yet to end. The time stands
// still already: however long they take, it begins anew on resume.
func suspending(w world, p progress) v1alpha1.SequentialJobStatus {
	s := newStatus(w, p)
	s.Phase = v1alpha1.PhaseRunning
	s.resetClock()
	s.Message = "suspended in " + p.step() + stillRuns
	s.condition(v1alpha1.ConditionProgressing, false, v1alpha1.ReasonSuspended)
	return s.finish()
}

// pending is the status while the Job of the current step cannot be created.
func pending(w world, p progress) v1alpha1.SequentialJobStatus {
	s := newStatus(w, p)
	s.Phase = v1alpha1.PhasePending
	if s.StartTime != nil {
		s.startClock(w, p)
	}
	s.Message = p.step() + ": " + w.obstacle.message
	s.condition(v1alpha1.ConditionProgressing, true, w.obstacle.reason)
	return s.finish()
}

// restored is the status while nobody has said whether the steps of a restored object are to run.
func restored(w world, p progress) v1alpha1.SequentialJobStatus {
	s := newStatus(w, p)
	s.Phase = v1alpha1.PhasePending
	s.Message = fmt.Sprintf("was restored from a backup without its status, so its steps may have run before: "+
		"delete it, or run them with: kubectl -n %s label sjob/%s %s-", w.object.Namespace, w.object.Name, v1alpha1.LabelRestored)
	s.condition(v1alpha1.ConditionProgressing, false, v1alpha1.ReasonRestored)
	return s.finish()
}

// held is the status while somebody else keeps the Job of the current step suspended.
func held(w world, p progress) v1alpha1.SequentialJobStatus {
	s := newStatus(w, p)
	s.Phase = v1alpha1.PhasePending
	s.stopClock(w, p)
	s.Message = fmt.Sprintf("%s: Job %s was suspended by somebody else, such as a queueing system, and goes on when they resume it",
		p.step(), p.job.Name)
	s.condition(v1alpha1.ConditionProgressing, false, v1alpha1.ReasonJobSuspended)
	return s.finish()
}

// stopping is the status while the pods of the current step have yet to end, because no further step will run.
func stopping(w world, p progress, f failure) v1alpha1.SequentialJobStatus {
	s := newStatus(w, p)
	s.Phase = v1alpha1.PhaseRunning
	s.Message = f.message
	s.condition(v1alpha1.ConditionProgressing, false, f.reason)
	return s.finish()
}

// running is the status while the current step has a Job.
func running(w world, p progress) v1alpha1.SequentialJobStatus {
	s := newStatus(w, p)
	s.Phase = v1alpha1.PhaseRunning
	s.startClock(w, p)
	job := jobName(w.object.Name, p.current)
	switch {
	case w.heard.waits:
		s.Phase = v1alpha1.PhasePending
		s.Message = fmt.Sprintf("%s waits in Job %s", p.step(), job)
		if w.heard.since != 0 {
			s.Message += " since " + time.Unix(w.heard.since, 0).UTC().Format(time.RFC3339)
		}
		s.Message += ": " + w.heard.text
	case w.heard.text != "":
		s.Message = fmt.Sprintf("%s runs in Job %s; %s", p.step(), job, w.heard.text)
	default:
		s.Message = fmt.Sprintf("%s runs in Job %s", p.step(), job)
	}
	if p.job != nil {
		s.Message += attempts(p.job)
	}
	if problem := validatePodFailurePolicy(&w.object.Spec); problem != "" && p.current+1 < p.steps {
		s.Message += "; the next step cannot be run: spec.podFailurePolicy" + problem
	}
	s.condition(v1alpha1.ConditionProgressing, true, v1alpha1.ReasonJobStarted)
	if p.current > 0 {
		s.condition(v1alpha1.ConditionProgressing, true, v1alpha1.ReasonJobCompleted)
	}
	if w.heard.waits {
		s.condition(v1alpha1.ConditionProgressing, true, v1alpha1.ReasonPodPending)
	}
	return s.finish()
}

// statusBuilder makes one status out of the one before.
type statusBuilder struct {
	v1alpha1.SequentialJobStatus
	now        metav1.Time
	conditions map[string]metav1.Condition
}

// newStatus fills in what does not depend on the phase. It keeps only the times of the status before: when it started, and since
// when each condition has been as it is.
func newStatus(w world, p progress) *statusBuilder {
	s := &statusBuilder{now: *w.seconds(), conditions: map[string]metav1.Condition{}}
	before := w.object.Status.DeepCopy()
	s.Conditions = slices.DeleteFunc(before.Conditions, isFormerCondition)
	s.ObservedGeneration = w.object.Generation
	s.Step = p.ordinal()
	s.StartTime, s.UsedSeconds = before.StartTime, before.UsedSeconds
	s.State.Succeeded = p.current
	s.Retry = retryOf(w.object)
	if p.job != nil {
		s.State.Active = 1
	} else if ptr.Deref(before.Progress.CurrentIndex, -1) == p.current {
		s.Progress.DiscardedJob = before.Progress.DiscardedJob
	}
	s.Progress.CurrentIndex = ptr.To(p.current)
	for i := range p.current {
		s.Progress.CompletedIndices = append(s.Progress.CompletedIndices, i)
	}
	s.condition(v1alpha1.ConditionComplete, false, v1alpha1.ReasonStepsRemaining)
	s.condition(v1alpha1.ConditionAvailable, false, v1alpha1.ReasonStepsRemaining)
	s.condition(v1alpha1.ConditionFailed, false, v1alpha1.ReasonAsExpected)
	s.condition(v1alpha1.ConditionSuspended, false, v1alpha1.ReasonAsExpected)
	return s
}

// condition says how a condition is to be; the last word counts.
func (s *statusBuilder) condition(kind string, holds bool, reason string) {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	s.conditions[kind] = metav1.Condition{Type: kind, Status: status, Reason: reason}
}

// finish returns the status with all conditions, each with the message of the whole.
func (s *statusBuilder) finish() v1alpha1.SequentialJobStatus {
	s.Message = printable.Line(s.Message) // it may contain what a Job says
	for _, kind := range []string{
		v1alpha1.ConditionComplete, v1alpha1.ConditionAvailable, v1alpha1.ConditionProgressing,
		v1alpha1.ConditionFailed, v1alpha1.ConditionSuspended,
	} {
		c := s.conditions[kind]
		c.LastTransitionTime, c.ObservedGeneration = s.now, s.ObservedGeneration
		if c.Reason != v1alpha1.ReasonAsExpected {
			c.Message = s.Message
		}
		meta.SetStatusCondition(&s.Conditions, c)
	}
	setHealth(&s.Conditions)
	return s.SequentialJobStatus
}

// startClock starts the time of activeDeadlineSeconds. If it ran before, it continues; otherwise it starts with the Job.
func (s *statusBuilder) startClock(w world, p progress) {
	s.UsedSeconds = w.object.Status.UsedSeconds
	if s.StartTime = w.object.Status.StartTime.DeepCopy(); s.StartTime == nil {
		s.StartTime = w.seconds()
		if began := startOf(p.job); began != nil && began.Before(s.StartTime) {
			s.StartTime = began.DeepCopy()
		}
	}
}

// stopClock stops the time of activeDeadlineSeconds as of the moment at which the Job was suspended.
func (s *statusBuilder) stopClock(w world, p progress) {
	before := w.object.Status
	s.StartTime, s.UsedSeconds = nil, before.UsedSeconds
	if before.StartTime == nil {
		return
	}
	until := s.now.Time
	if c := conditionOf(p.job, batchv1.JobSuspended); c != nil && c.LastTransitionTime.Time.Before(until) {
		until = c.LastTransitionTime.Time
	}
	s.UsedSeconds += max(0, int64(until.Sub(before.StartTime.Time)/time.Second))
}

// resetClock resets the time of activeDeadlineSeconds, which then begins anew with the next start, as that of a Job does.
func (s *statusBuilder) resetClock() {
	s.StartTime, s.UsedSeconds = nil, 0
}

// discard notes that the Job of the current step counts no more.
func (s *statusBuilder) discard(p progress) {
	s.State.Active = 0
	if p.job != nil {
		s.Progress.DiscardedJob = p.job.UID
	}
}

package sequentialjob

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/internal/printable"
)

// refusedChange is the error of a write to a Job that is there, which the API server refuses, by an admission policy for
// instance. That may change, so it is tried again.
type refusedChange struct{ cause error }

func (e *refusedChange) Error() string { return e.cause.Error() }
func (e *refusedChange) Unwrap() error { return e.cause }

// changeError returns the error of a write to a Job, as a refusedChange if the API server answered.
func changeError(action string, err error) error {
	err = fmt.Errorf("%s: %w", action, err)
	if isAnswer(err) {
		return &refusedChange{err}
	}
	return err
}

// verbs say what a write does to a Job.
var verbs = map[write]string{
	suspendJob: "suspend", resumeJob: "resume", limitJob: "change the deadline of", stopJob: "stop", deleteJob: "delete",
}

// changeRefused is the status when what was decided on is refused. Without another deadline of its Job a step is as far as
// it would be with it, and one that cannot be stopped is to stop all the same; otherwise all is as it was.
func changeRefused(w world, d decision, refused *refusedChange) v1alpha1.SequentialJobStatus {
	status := w.object.Status.DeepCopy()
	if d.write == limitJob || d.write == stopJob {
		status = d.status.DeepCopy()
	}
	p := progressOf(w)
	status.ObservedGeneration = w.object.Generation
	status.Message = printable.Note(fmt.Sprintf("%s: the API server refuses to %s Job %s, will retry: %v",
		p.step(), verbs[d.write], jobName(w.object.Name, p.current), refused.cause))
	c := metav1.Condition{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, LastTransitionTime: *w.seconds()}
	if before := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionProgressing); before != nil {
		c.Status = before.Status
	}
	c.Reason, c.Message, c.ObservedGeneration = v1alpha1.ReasonJobUpdateFailed, status.Message, status.ObservedGeneration
	meta.SetStatusCondition(&status.Conditions, c)
	if c.Status == metav1.ConditionTrue {
		c.Type = v1alpha1.ConditionReconciling // the same as Progressing
		meta.SetStatusCondition(&status.Conditions, c)
	}
	return *status
}

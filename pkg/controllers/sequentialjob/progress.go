package sequentialjob

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/batch/v1alpha1"
)

// progress is how far an object has come.
type progress struct {
	steps int32
	// unknown is true if unknown how many steps there are, because the object cannot be decoded.
	unknown bool
	// current is the first step that is not completed; steps if all are.
	current int32
	// job is that of the current step, or nil.
	job *batchv1.Job
	// discarded is a Job of the current step that counts no more, or nil.
	discarded *batchv1.Job
	// name is that of the current step; empty if all are completed.
	name string
}

// progressOf works out from the world how far the object has come.
//
// Steps are started in order, so whatever shows that one was completed shows it of all before. Three things do: that it
// is noted in status, whatever became of the Job since; that its Job is Complete; and that a later step has a Job, which
// is created only then.
func progressOf(w world) progress {
	p := progress{steps: int32(len(w.object.Spec.Containers))}
	for _, index := range w.object.Status.Progress.CompletedIndices {
		p.current = max(p.current, index+1)
	}
	for index, job := range w.jobs {
		p.current = max(p.current, index)
		if isComplete(job) {
			p.current = max(p.current, index+1)
		}
	}
	if w.unreadable != "" && p.steps == 0 {
		// What was completed, and what runs, is what there is to know.
		p.current = min(p.current, v1alpha1.MaxSteps)
		p.steps, p.unknown = p.current+1, true
		p.setJob(w)
		return p
	}
	p.current = min(p.current, p.steps)
	if p.current < p.steps {
		p.setJob(w)
		p.name = w.object.Spec.Containers[p.current].Name
	}
	return p
}

func (p *progress) setJob(w world) {
	if p.job = w.jobs[p.current]; p.job != nil && isDiscarded(w.object.Status, p.current, string(p.job.UID)) {
		p.job, p.discarded = nil, p.job
	}
}

// wasStarted reports whether a status notes that the current step has had a Job.
func (p progress) wasStarted(status v1alpha1.SequentialJobStatus) bool {
	return status.State.Active > 0 && ptr.Deref(status.Progress.CurrentIndex, -1) == p.current
}

// at is how far the object has come when it is at another step.
func (p progress) at(object *v1alpha1.SequentialJob, index int32) progress {
	return progress{steps: p.steps, current: index, name: object.Spec.Containers[index].Name}
}

// step names the current step for people.
func (p progress) step() string {
	return fmt.Sprintf("step %s %q", p.ordinal(), p.name)
}

// ordinal is the place of the current step for people: "2/3" is the second of three.
func (p progress) ordinal() string {
	if p.unknown {
		return fmt.Sprintf("%d/?", p.current+1)
	}
	return fmt.Sprintf("%d/%d", min(p.current+1, p.steps), p.steps)
}

package podgroup

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// notReadyAfter is how long the newest pod without the label must have waited before that is reported.
const notReadyAfter = time.Minute

// notReady returns the problem that a group is not ready; waits is false if no pod waits for the label. The problem is
// confirmed at once if pods wait for what does not come by itself.
func (w world) notReady(members []*corev1.Pod, why string) (p problem, waits bool) {
	p = problem{kind: notReady, reason: EventNotReady}
	say := func(format string, args ...any) func() string {
		return func() string { return "the group is not ready: " + why + ". " + fmt.Sprintf(format, args...) }
	}
	if job, failed := w.failedJob(); failed {
		for _, pod := range w.pods {
			if !w.options.isLabelled(pod) {
				p.pod, p.subject = pod, string(job.uid)+" failed"
				p.note = say("%s has failed and creates no more pods: delete it, or create another Job in its place", job.name)
				return p, true
			}
		}
		return p, false
	}
	// waiting is a pod without the label, failed and stopped are what it waits for: pods that had the label before they failed or
	// stopped keep it, and the others wait for them all the same.
	var waiting, failed, stopped *corev1.Pod
	var newest time.Time
	for _, pod := range members {
		isLabelled := w.options.isLabelled(pod)
		switch {
		case pod.Status.Phase == corev1.PodFailed && (failed == nil || w.options.isLabelled(failed) && !isLabelled):
			failed = pod
		case !runs(pod) && (stopped == nil || w.options.isLabelled(stopped) && !isLabelled):
			stopped = pod
		}
		if isLabelled {
			continue
		}
		if waiting == nil || runs(waiting) && !runs(pod) {
			waiting = pod
		}
		if created := pod.CreationTimestamp.Time; created.After(newest) {
			newest = created
		}
	}
	switch {
	case waiting == nil:
		return p, false
	case failed != nil:
		p.pod, p.subject = failed, string(failed.UID)+" failed"
		p.note = say("Pod %s has failed: delete it, and create another if it is needed", failed.Name)
		return p, true
	case stopped != nil:
		p.pod = waiting
		p.note = say("Pod %s is %s: look at its events", stopped.Name, stopped.Status.Phase)
	default:
		p.pod = waiting
		p.note = say("Create the missing pods, or look at the events of the workload that should")
	}
	if newest.After(w.now) {
		newest = w.now // by a clock that is ahead of ours
	}
	if due := newest.Add(notReadyAfter); due.After(w.now) {
		p.unconfirmed, p.due = true, due
	}
	return p, true
}

// failedJob returns the first Job by name that failed and is still counted.
func (w world) failedJob() (first workload, found bool) {
	for _, job := range w.workloads {
		if job.failed && job.desired > 0 && (!found || job.name < first.name) {
			first, found = job, true
		}
	}
	return first, found
}

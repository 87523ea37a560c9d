package ordercheck

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// lost is a Job, or a pod without a controller, that failed and was deleted. Its group expects it until it has a successor.
type lost struct {
	types.NamespacedName
	uid     types.UID
	pod     bool // else a Job
	created time.Time
	cronJob owner      // of a Job; zero if it has none
	labels  labels.Set // of the pod, or of the Job's pods
	of      func(*groupFacts) int
	// failedAt is when a Job failed.
	failedAt time.Time
}

func (l *lost) String() string {
	if l.pod {
		return "Pod " + l.Name
	}
	return "Job " + l.Name
}

// failedAtOf is when a Job failed; zero for anything else.
func failedAtOf(f *workloadFacts) time.Time {
	if f.job == nil || !f.job.failed {
		return time.Time{}
	}
	return f.job.failedAt
}

// isSucceededBy reports whether a Job takes the place of a lost one: by its name, or as a younger one of the CronJob.
func (l *lost) isSucceededBy(f *workloadFacts) bool {
	switch {
	case l.pod, f.job == nil:
		return false
	case l.Name == f.Name:
		return true
	}
	// The CronJob may have been created again.
	return l.cronJob != (owner{}) && l.cronJob.kind == f.owner.kind && l.cronJob.name == f.owner.name && f.youngerThan(l.created, l.Name)
}

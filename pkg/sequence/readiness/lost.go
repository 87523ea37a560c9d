package readiness

import "example.com/podsequence/pkg/sequence/inventory"

// Lost sums up the members of a group that failed and were deleted since. What goes away satisfies nothing: until it has a
// successor, a lost member is expected as if it was still there.
type Lost struct {
	Objects int // Jobs, and pods that counted by themselves
	Pods    int // that the group expects of them
}

// Add adds a lost member of which the group expects so many pods.
func (l *Lost) Add(pods int) {
	l.Objects++
	l.Pods += max(pods, 1)
}

// IsFailedJob reports whether the workload is a Job whose failure goes on record. That of a Job that a newer one of its CronJob
// superseded does not, nor that of one that failed because it was deleted while it ran: its pods were ended before it.
func IsFailedJob(w *inventory.Workload) bool {
	return w.Kind == inventory.KindJob && w.Failed && !w.Superseded && !(w.Terminating && w.FailedAt.After(w.DeletedAt))
}

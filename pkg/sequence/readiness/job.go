package readiness

import (
	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
)

// jobReady returns how many pods of a Job count as done, and whether the Job is short. A complete Job satisfies any group,
// whatever is left of its pods. A Job that must complete is short until it has, whatever its pods have reached.
func jobReady(w *inventory.Workload, required v1alpha1.RequiredStatus, need, done int) (ready int, short bool) {
	switch {
	case w.Complete:
		return need, false
	case required == v1alpha1.RequireComplete:
		return done, true
	}
	return done, done < need
}

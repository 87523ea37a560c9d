package podgroup

import (
	"cmp"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// current returns the world without earlier runs of the same work: their Jobs, the pods of these, and those of owners that
// are gone.
func (w world) current() world {
	isEarlier := w.earlierRuns()
	c := w
	c.workloads = maps.Clone(w.workloads)
	maps.DeleteFunc(c.workloads, func(_ types.UID, workload workload) bool { return isEarlier(workload) })
	c.pods = slices.DeleteFunc(slices.Clone(w.pods), func(pod *corev1.Pod) bool {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil {
			return false
		}
		workload, known := w.workloads[owner.UID]
		return known && isEarlier(workload) || w.absent[owner.UID]
	})
	return c
}

// earlierRuns returns a function that reports whether a workload is of an earlier run. A run is a Job, or all Jobs of one
// owner. It is an earlier one if it had ended when a Job of another run was created: the two never ran together. Of a
// CronJob's Jobs all but the newest are, ended or not. That a JobSet has fewer Jobs than it says is no sign that it goes on:
// when it completes or fails, it deletes those that run.
func (w world) earlierRuns() func(workload) bool {
	newestOf := map[types.UID]workload{} // by CronJob
	ends := map[types.UID]int64{}        // by run
	// The newest Job, and the newest of another run than that: one of them is not of the run that is asked about.
	var newest, next workload
	for _, job := range w.workloads {
		if job.run == "" {
			continue
		}
		if job.cronJob != "" && job.isNewer(newestOf[job.cronJob]) {
			newestOf[job.cronJob] = job
		}
		if !job.complete && !job.failed {
			ends[job.run] = math.MaxInt64
		} else if end, seen := ends[job.run]; !seen || job.ended > end {
			ends[job.run] = job.ended
		}
		switch {
		case job.run == newest.run && job.isNewer(newest):
			newest = job
		case job.run != newest.run && job.isNewer(newest):
			newest, next = job, newest
		case job.run != newest.run && job.isNewer(next):
			next = job
		}
	}
	return func(asked workload) bool {
		if asked.cronJob != "" && newestOf[asked.cronJob].uid != asked.uid {
			return true
		}
		other := newest
		if other.run == asked.run {
			other = next
		}
		return asked.run != "" && other.run != "" && ends[asked.run] <= other.created
	}
}

// isNewer compares with a Job, or with none. Of two Jobs of one second the names decide.
func (w workload) isNewer(than workload) bool {
	return than.run == "" || cmp.Or(cmp.Compare(w.created, than.created), cmp.Compare(w.name, than.name)) > 0
}

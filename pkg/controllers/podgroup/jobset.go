package podgroup

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The labels by which a JobSet says on each of its Jobs of how many that is one.
const (
	replicatedJobLabel         = "jobset.sigs.k8s.io/replicatedjob-name"
	replicatedJobReplicasLabel = "jobset.sigs.k8s.io/replicatedjob-replicas"
	globalReplicasLabel        = "jobset.sigs.k8s.io/global-replicas"
)

// jobSet is what a Job says of the JobSet that it is a part of.
type jobSet struct {
	uid        types.UID // empty if it is a part of none
	jobs       int       // how many Jobs it has in all; 0 if that is not known
	replicated string    // the name of the replicated Job, of which there are
	replicas   int
}

func jobSetOf(job *batchv1.Job) jobSet {
	owner := metav1.GetControllerOfNoCopy(job)
	if owner == nil || owner.Kind != "JobSet" || !strings.HasPrefix(owner.APIVersion, "jobset.x-k8s.io/") {
		return jobSet{}
	}
	number := func(label string) int {
		n, err := strconv.ParseInt(job.Labels[label], 10, 32)
		if err != nil {
			return 0
		}
		return int(n)
	}
	return jobSet{
		uid: owner.UID, jobs: number(globalReplicasLabel),
		replicated: job.Labels[replicatedJobLabel], replicas: number(replicatedJobReplicasLabel),
	}
}

// uncreated returns how many Jobs each JobSet has yet to create. They may be of the group: a JobSet creates Jobs one after
// another, and some only when others are ready.
func (w world) uncreated() map[types.UID]int {
	left := map[types.UID]int{}
	known := map[types.UID]int{}
	for _, job := range w.workloads {
		if set := job.jobSet; set.uid != "" {
			known[set.uid]++
			left[set.uid] = max(left[set.uid], set.jobs)
		}
	}
	for uid := range left {
		left[uid] -= max(known[uid], w.jobs[uid])
	}
	maps.DeleteFunc(left, func(_ types.UID, n int) bool { return n <= 0 })
	return left
}

// uncreatedPods returns how many pods are to come of Jobs that their JobSet has yet to create. A Job has as many as another
// of the same replicated Job, and at least one if there is no other.
func (w world) uncreatedPods() int {
	left := w.uncreated()
	if len(left) == 0 {
		return 0
	}
	type part struct {
		set        types.UID
		replicated string
	}
	missing, desired := map[part]int{}, map[part]int{}
	for _, job := range w.workloads {
		p := part{job.jobSet.uid, job.jobSet.replicated}
		if _, seen := desired[p]; !seen {
			missing[p] = job.jobSet.replicas
		}
		missing[p]--
		desired[p] = max(desired[p], job.desired)
	}
	pods := 0
	add := func(jobs, each int) { pods = min(pods+jobs*each, math.MaxInt32) }
	for _, p := range slices.SortedFunc(maps.Keys(desired), func(a, b part) int { return cmp.Compare(a.replicated, b.replicated) }) {
		jobs := min(left[p.set], max(0, missing[p]))
		left[p.set] -= jobs
		add(jobs, desired[p])
	}
	for _, jobs := range left {
		add(jobs, 1)
	}
	return pods
}

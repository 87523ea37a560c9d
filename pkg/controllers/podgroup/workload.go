package podgroup

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// workload is what matters of a Job, StatefulSet or ReplicaSet.
type workload struct {
	uid     types.UID
	name    string // with its kind, for messages
	desired int    // how many pods it wants at a time
	// completions is how many of its pods may yet succeed or have, 0 if any one ends it. Those of indexes that failed for good will not.
	completions int
	// succeeded is how many pods it has seen succeed; some may have been removed since.
	succeeded int
	// complete says that it wants no more pods, and failed that it makes no more though it wants them. Then it has ended.
	complete, failed bool
	created, ended   int64 // in seconds, as API timestamps are
	// run is what a Job is a part of: the UID of its controller, a JobSet for instance, or its own.
	run types.UID
	// cronJob is the UID of the CronJob that made it, if one did. Each of its Jobs is a run.
	cronJob types.UID
	jobSet  jobSet
}

// missing is how many pods it has yet to make of those that it wants at a time, as the Job controller counts them: of these pods so many
// are active, and so many have succeeded.
func (w workload) missing(active, succeeded int) int {
	succeeded = max(succeeded, w.succeeded)
	if w.completions > w.desired { // others take the places of those that succeed
		return max(0, min(w.desired, w.completions-succeeded)-active)
	}
	return max(0, w.desired-active-succeeded)
}

// isNewer compares with a Job, or with none. Of two Jobs of one second the names decide.
func (w workload) isNewer(than workload) bool {
	return than.run == "" || cmp.Or(cmp.Compare(w.created, than.created), cmp.Compare(w.name, than.name)) > 0
}

// workloadKinds are those whose size is known, by the kind in owner references.
var workloadKinds = map[string]struct {
	apiVersion string
	object     func() client.Object
	list       func() client.ObjectList
}{
	"Job":         {"batch/v1", func() client.Object { return &batchv1.Job{} }, func() client.ObjectList { return &batchv1.JobList{} }},
	"StatefulSet": {"apps/v1", func() client.Object { return &appsv1.StatefulSet{} }, func() client.ObjectList { return &appsv1.StatefulSetList{} }},
	"ReplicaSet":  {"apps/v1", func() client.Object { return &appsv1.ReplicaSet{} }, func() client.ObjectList { return &appsv1.ReplicaSetList{} }},
}

// workloadOf returns what matters of an object of one of these kinds; false if it is on its way out with its pods, or not
// of these kinds.
func workloadOf(object client.Object) (workload, bool) {
	created := object.GetCreationTimestamp()
	w := workload{uid: object.GetUID(), created: created.Unix()}
	switch o := object.(type) {
	case *batchv1.Job:
		parallelism := ptr.Deref(o.Spec.Parallelism, 1)
		w.desired, w.succeeded = int(parallelism), int(o.Status.Succeeded)
		// Without completions the first pod that succeeds ends the Job; until then it has as many as run at a time.
		if completions := o.Spec.Completions; completions != nil {
			w.completions = max(0, int(*completions)-countIndexes(ptr.Deref(o.Status.FailedIndexes, "")))
			w.desired = min(w.desired, w.completions)
		}
		w.name, w.run, w.jobSet = "Job "+o.Name, o.UID, jobSetOf(o)
		if owner := metav1.GetControllerOfNoCopy(o); owner != nil && owner.Kind == "CronJob" {
			w.cronJob = owner.UID
		} else if owner != nil {
			w.run = owner.UID
		}
		for _, c := range o.Status.Conditions {
			if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
				w.complete, w.failed, w.ended = c.Type == batchv1.JobComplete, c.Type == batchv1.JobFailed, c.LastTransitionTime.Unix()
			}
		}
	case *appsv1.StatefulSet:
		w.name = "StatefulSet " + o.Name
		w.desired = int(ptr.Deref(o.Spec.Replicas, 1))
	case *appsv1.ReplicaSet:
		w.name = "ReplicaSet " + o.Name
		w.desired = int(ptr.Deref(o.Spec.Replicas, 1))
	default:
		return workload{}, false
	}
	// The pods of one that is deleted without them stay, and must not count without the rest of them.
	orphans := slices.Contains(object.GetFinalizers(), metav1.FinalizerOrphanDependents)
	return w, object.GetDeletionTimestamp() == nil || orphans
}

// countIndexes counts the indexes in a text such as "1,3-5", see JobStatus.FailedIndexes.
func countIndexes(text string) (count int) {
	for interval := range strings.SplitSeq(text, ",") {
		low, high, several := strings.Cut(interval, "-")
		if !several {
			high = low
		}
		first, wrong := strconv.Atoi(low)
		last, wrongToo := strconv.Atoi(high)
		if wrong == nil && wrongToo == nil && first <= last {
			count += last - first + 1
		}
	}
	return count
}

package podgroup

import (
	"maps"
	"slices"
	"time"

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
	desired int // how many pods it wants at a time
	// succeeded is how many pods it has seen succeed; some may have been removed since.
	succeeded int
	// complete says that it wants no more pods.
	complete bool
	// cronJob is the UID of the CronJob that made it, if one did, and made is when, with its name to tell two of a second
	// apart: of a CronJob's Jobs only the newest counts.
	cronJob types.UID
	made    string
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
	w := workload{uid: object.GetUID()}
	switch o := object.(type) {
	case *batchv1.Job:
		parallelism := ptr.Deref(o.Spec.Parallelism, 1)
		// Without completions the first pod that succeeds ends the Job; until then it has as many as run at a time.
		w.desired = int(min(parallelism, ptr.Deref(o.Spec.Completions, parallelism)))
		w.succeeded = int(o.Status.Succeeded)
		if owner := metav1.GetControllerOfNoCopy(o); owner != nil && owner.Kind == "CronJob" {
			w.cronJob, w.made = owner.UID, o.CreationTimestamp.UTC().Format(time.RFC3339)+" "+o.Name
		}
		w.complete = slices.ContainsFunc(o.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
		})
	case *appsv1.StatefulSet:
		w.desired = int(ptr.Deref(o.Spec.Replicas, 1))
	case *appsv1.ReplicaSet:
		w.desired = int(ptr.Deref(o.Spec.Replicas, 1))
	default:
		return workload{}, false
	}
	return w, object.GetDeletionTimestamp() == nil
}

// templateGroup is the group that the pods of a workload are in by its template.
func (o Options) templateGroup(object client.Object) types.NamespacedName {
	group := types.NamespacedName{Namespace: object.GetNamespace()}
	switch w := object.(type) {
	case *batchv1.Job:
		group.Name = w.Spec.Template.Labels[o.NameLabel]
	case *appsv1.StatefulSet:
		group.Name = w.Spec.Template.Labels[o.NameLabel]
	case *appsv1.ReplicaSet:
		group.Name = w.Spec.Template.Labels[o.NameLabel]
	}
	return group
}

// current returns the workloads without those that a later run of the same CronJob has taken the place of, and their pods.
func (w world) current() world {
	newest := map[types.UID]string{} // by CronJob
	for _, workload := range w.workloads {
		if workload.cronJob != "" {
			newest[workload.cronJob] = max(newest[workload.cronJob], workload.made)
		}
	}
	if len(newest) == 0 {
		return w
	}
	isOld := func(uid types.UID) bool {
		workload, known := w.workloads[uid]
		return known && workload.cronJob != "" && workload.made != newest[workload.cronJob]
	}
	c := w
	c.workloads = maps.Clone(w.workloads)
	maps.DeleteFunc(c.workloads, func(uid types.UID, _ workload) bool { return isOld(uid) })
	c.pods = slices.DeleteFunc(slices.Clone(w.pods), func(pod *corev1.Pod) bool {
		owner := metav1.GetControllerOfNoCopy(pod)
		return owner != nil && isOld(owner.UID)
	})
	return c
}

package podgroup

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"example.com/podsequence/internal/podgroups"
)

var options = Options{NameLabel: DefaultNameLabel, ReadyLabel: DefaultReadyLabel}

// podEdit changes a pod under test.
type podEdit func(*corev1.Pod)

// pod is a running one of the group "gang", unless an edit says otherwise.
func pod(name string, edits ...podEdit) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "train", Name: name, UID: types.UID(name), ResourceVersion: "10", CreationTimestamp: metav1.Unix(1000, 0),
			Labels: map[string]string{DefaultNameLabel: "gang"}, Annotations: map[string]string{},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func phase(phase corev1.PodPhase) podEdit { return func(p *corev1.Pod) { p.Status.Phase = phase } }
func sized(text string) podEdit           { return func(p *corev1.Pod) { p.Annotations[SizeAnnotation] = text } }
func labelled(p *corev1.Pod)              { p.Labels[DefaultReadyLabel] = ReadyValue }

// labelledFor gives a pod the label as we do for a group.
func labelledFor(group string) podEdit {
	return func(p *corev1.Pod) {
		labelled(p)
		p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: "podsequence-controller-podgroup/" + group, Operation: metav1.ManagedFieldsOperationUpdate,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:podgroup.jhwagner.github.io/ready":{}}}}`),
		})
	}
}

// ownedBy makes a Job of that UID the pod's controller.
func ownedBy(uid types.UID) podEdit {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "batch/v1", Kind: "Job", Name: "job-" + string(uid), UID: uid, Controller: ptr.To(true)},
		}
	}
}

func inCoscheduling(name string) podEdit {
	return func(p *corev1.Pod) { p.Labels[podgroups.CoschedulingLabel] = name }
}

func inNative(name string) podEdit {
	return func(p *corev1.Pod) { p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name} }
}

// worldOf is a world of these pods in which nothing else is known.
func worldOf(pods ...*corev1.Pod) world {
	return world{options: options, pods: pods, minimums: map[podgroups.Reference]int32{}, workloads: map[types.UID]workload{}}
}

func (w world) minimum(kind podgroups.Kind, name string, minimum int32) world {
	w.minimums[podgroups.Reference{Kind: kind, NamespacedName: types.NamespacedName{Namespace: "train", Name: name}}] = minimum
	return w
}

// nightly makes a workload one of the Jobs that a CronJob makes.
func nightly(second int64) func(*workload) {
	return func(w *workload) { w.cronJob, w.created = "nightly", second }
}

// made says in which second a workload was created.
func made(second int64) func(*workload) { return func(w *workload) { w.created = second } }

// ended makes a workload a Job that failed in that second.
func ended(second int64) func(*workload) {
	return func(w *workload) { w.failed, w.ended = true, second }
}

// complete makes a Job that has ended one that completed.
func complete(w *workload) { w.failed, w.complete = false, true }

func inRun(uid types.UID) func(*workload) { return func(w *workload) { w.run = uid } }

// inSet makes a workload a Job of a JobSet that has so many Jobs, and so many of this replicated Job.
func inSet(jobs int, replicated string, replicas int) func(*workload) {
	return func(w *workload) {
		w.run, w.jobSet = "set", jobSet{uid: "set", jobs: jobs, replicated: replicated, replicas: replicas}
	}
}

// created says how many Jobs of the JobSet there are.
func (w world) created(jobs int) world {
	w.jobs = map[types.UID]int{"set": jobs}
	return w
}

// jobOfSet is one of four workers of a JobSet that has a driver as well.
func jobOfSet(uid types.UID, parallelism int32) *batchv1.Job {
	j := job(uid, parallelism)
	j.Labels = map[string]string{
		"jobset.sigs.k8s.io/global-replicas":        "5",
		"jobset.sigs.k8s.io/replicatedjob-name":     "workers",
		"jobset.sigs.k8s.io/replicatedjob-replicas": "4",
	}
	j.Spec.Template.Labels = map[string]string{DefaultNameLabel: "gang"}
	j.OwnerReferences = []metav1.OwnerReference{{APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet", UID: "set", Controller: new(true)}}
	return j
}

func (w world) workload(uid types.UID, desired int, edits ...func(*workload)) world {
	known := workload{uid: uid, name: "Job job-" + string(uid), run: uid, desired: desired}
	for _, edit := range edits {
		edit(&known)
	}
	w.workloads[uid] = known
	return w
}

package ordercheck

import (
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// workloadFacts are what the rule asks of an object that makes pods. They never change once recorded.
type workloadFacts struct {
	types.NamespacedName
	kind        string
	stamp       time.Time
	uid         types.UID
	generation  int64
	created     time.Time
	owner       owner
	terminating bool
	deletedAt   time.Time      // zero while nobody deletes it
	observed    bool           // its controller has seen its newest generation
	template    labels.Set     // the labels of its pods
	expected    int            // how many pods it should have
	readyNodes  int            // of a DaemonSet: on how many of its nodes it has a ready pod, and one of the newest revision if that matters
	object      metav1.Object  // what Kubernetes' own predicates ask for: a Deployment, ReplicaSet or DaemonSet
	revision    revisionOf     // which of its pods are of its current revision
	ordinals    ordinals       // of a StatefulSet
	job         *jobFacts      // of a Job
	aside       bool           // it is a Job that is a hook and no part of the start
	statusOnly  workloadStatus // for says
}

// workloadStatus is what can change without the generation.
type workloadStatus struct {
	expected    int
	readyNodes  int
	observed    bool
	terminating bool
	owner       owner
	revision    revisionOf
	complete    bool
	failed      bool
}

// revisionOf says which label the pods of the current revision have. Without a label all pods are of it. Of a DaemonSet it is the
// generation of the template, and pods with the hash of one that has it are of the current revision, too.
type revisionOf struct {
	label, value string
}

// ordinals are the numbers that a StatefulSet gives its pods: start, and those up to end.
type ordinals struct {
	start, end int
}

type jobFacts struct {
	completions int
	complete    bool
	completedAt time.Time
	failed      bool
	failedAt    time.Time
}

func factsOfWorkload(kind string, object metav1.Object, spec workloadFacts) *workloadFacts {
	spec.kind = kind
	spec.NamespacedName = nameOf(object)
	spec.stamp = newestStamp(object)
	spec.uid = object.GetUID()
	spec.generation = object.GetGeneration()
	spec.created = object.GetCreationTimestamp().Time
	spec.owner = controllerOf(object)
	if at := object.GetDeletionTimestamp(); at != nil {
		spec.terminating, spec.deletedAt = true, at.Time
	}
	spec.statusOnly = workloadStatus{
		expected: spec.expected, readyNodes: spec.readyNodes, observed: spec.observed, terminating: spec.terminating,
		owner: spec.owner, revision: spec.revision, complete: spec.job != nil && spec.job.complete,
		failed: spec.job != nil && spec.job.failed,
	}
	return &spec
}

func factsOfDeployment(d *appsv1.Deployment) facts {
	return factsOfWorkload("Deployment", d, workloadFacts{
		observed: d.Status.ObservedGeneration >= d.Generation,
		template: d.Spec.Template.Labels,
		expected: number(d.Spec.Replicas, 1),
		object:   &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: d.Spec.Template}},
	})
}

func factsOfReplicaSet(r *appsv1.ReplicaSet) facts {
	return factsOfWorkload("ReplicaSet", r, workloadFacts{
		observed: r.Status.ObservedGeneration >= r.Generation,
		template: r.Spec.Template.Labels,
		expected: number(r.Spec.Replicas, 1),
		object: &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: r.Name, UID: r.UID, CreationTimestamp: r.CreationTimestamp},
			Spec:       appsv1.ReplicaSetSpec{Template: r.Spec.Template},
		},
	})
}

func factsOfReplicationController(r *corev1.ReplicationController) facts {
	f := workloadFacts{
		observed: r.Status.ObservedGeneration >= r.Generation,
		expected: number(r.Spec.Replicas, 1),
	}
	if r.Spec.Template != nil {
		f.template = r.Spec.Template.Labels
	}
	return factsOfWorkload("ReplicationController", r, f)
}

func factsOfStatefulSet(s *appsv1.StatefulSet) facts {
	f := workloadFacts{
		observed: s.Status.ObservedGeneration >= s.Generation,
		template: s.Spec.Template.Labels,
		expected: number(s.Spec.Replicas, 1),
	}
	if s.Spec.Ordinals != nil {
		f.ordinals.start = int(s.Spec.Ordinals.Start)
	}
	f.ordinals.end = f.ordinals.start + f.expected
	rolling := s.Spec.UpdateStrategy.RollingUpdate
	partitioned := rolling != nil && number(rolling.Partition, 0) > 0
	if s.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType && !partitioned && s.Status.UpdateRevision != "" {
		f.revision = revisionOf{appsv1.ControllerRevisionHashLabelKey, s.Status.UpdateRevision}
	}
	return factsOfWorkload("StatefulSet", s, f)
}

func factsOfDaemonSet(d *appsv1.DaemonSet) facts {
	f := workloadFacts{
		observed: d.Status.ObservedGeneration >= d.Generation,
		template: d.Spec.Template.Labels,
		expected: int(d.Status.DesiredNumberScheduled), readyNodes: int(d.Status.NumberReady),
		object: &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: d.Spec.Template}},
	}
	generation, known := d.Annotations[appsv1.DeprecatedTemplateGeneration]
	allUpdated := f.observed && f.expected > 0 && int(d.Status.UpdatedNumberScheduled) >= f.expected // its controller says so
	if known && !allUpdated && d.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType {
		f.revision = revisionOf{"pod-template-generation", generation}
		f.readyNodes = min(f.readyNodes, int(d.Status.UpdatedNumberScheduled))
	}
	return factsOfWorkload("DaemonSet", d, f)
}

func factsOfJob(j *batchv1.Job) facts {
	parallelism := number(j.Spec.Parallelism, 1)
	job := &jobFacts{completions: number(j.Spec.Completions, parallelism)}
	for _, c := range j.Status.Conditions {
		job.complete = job.complete || c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
		if c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue {
			job.failed, job.failedAt = true, c.LastTransitionTime.Time
		}
	}
	if j.Status.CompletionTime != nil {
		job.completedAt = j.Status.CompletionTime.Time
	}
	return factsOfWorkload("Job", j, workloadFacts{
		observed: true,
		template: j.Spec.Template.Labels,
		expected: min(parallelism, job.completions),
		job:      job,
		aside:    isAside(j) || isAside(&j.Spec.Template),
	})
}

// expects is how many pods a group with this requirement should see of the workload.
func (f *workloadFacts) expects(reached v1alpha1.RequiredStatus) int {
	if f.job != nil && reached == v1alpha1.RequireComplete {
		return f.job.completions
	}
	return f.expected
}

func (f *workloadFacts) complete() bool { return f.job != nil && f.job.complete }

// goes reports whether the workload is being deleted: it satisfies nobody until it is gone, but for a Job that is complete.
func (f *workloadFacts) goes() bool { return f.terminating && !f.complete() }

func (f *workloadFacts) String() string { return f.kind + " " + f.Name }

// says compares generations instead of specs: the API server counts it up with every change of the spec. The labels of a
// Job's template cannot change.
func (f *workloadFacts) says(other facts) bool {
	o, ok := other.(*workloadFacts)
	return ok && f.uid == o.uid && f.generation == o.generation && f.statusOnly == o.statusOnly && f.aside == o.aside
}

func (f *workloadFacts) as(e event) event {
	e.workload = f
	return e
}

func (f *workloadFacts) stamped() time.Time { return f.stamp }

func number(n *int32, unset int) int {
	if n == nil {
		return unset
	}
	return int(*n)
}

// ofDeployment reports whether this is a ReplicaSet that is counted with its Deployment.
func (f *workloadFacts) ofDeployment() bool {
	return f.kind == "ReplicaSet" && f.owner.kind == "Deployment" && strings.HasPrefix(f.owner.apiVersion, "apps/")
}

// youngerThan reports whether a Job of a CronJob is younger than one that was created then under a name.
func (f *workloadFacts) youngerThan(created time.Time, name string) bool {
	return f.created.After(created) || f.created.Equal(created) && f.Name > name
}

// ordinalOf returns the number at the end of the name that a StatefulSet gave a pod.
func (f *workloadFacts) ordinalOf(pod string) (int, bool) {
	digits, ok := strings.CutPrefix(pod, f.Name+"-")
	if f.kind != "StatefulSet" || !ok {
		return 0, false
	}
	ordinal, err := strconv.Atoi(digits)
	return ordinal, err == nil && strconv.Itoa(ordinal) == digits
}

// inRange reports whether an ordinal is one that the StatefulSet wants.
func (o ordinals) inRange(ordinal int) bool { return o.start <= ordinal && ordinal < o.end }

// isIdle reports whether the workload is a DaemonSet that wants no pods.
func (f *workloadFacts) isIdle() bool { return f.kind == "DaemonSet" && f.expected <= 0 }

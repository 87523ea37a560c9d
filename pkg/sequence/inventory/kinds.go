package inventory

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Kind is a kind of object that owns pods, and so says how many to expect.
type Kind string

// The kinds of workloads, and pods.
const (
	KindPod                   Kind = "Pod"
	KindDeployment            Kind = "Deployment"
	KindReplicaSet            Kind = "ReplicaSet"
	KindReplicationController Kind = "ReplicationController"
	KindStatefulSet           Kind = "StatefulSet"
	KindDaemonSet             Kind = "DaemonSet"
	KindJob                   Kind = "Job"
)

// WorkloadKind is a row in the table of workload kinds.
type WorkloadKind struct {
	Kind     Kind
	Resource schema.GroupVersionResource
	// Object is an empty object of this kind.
	Object metav1.Object
	// Template returns what an object of this kind makes its pods of; nil for one without a template, or of another kind.
	Template func(object metav1.Object) *corev1.PodTemplateSpec
	// view reads the facts of an object; it reports whether the object is of this kind.
	view func(w *Workload, object metav1.Object) bool
}

// WorkloadKinds is the table of all kinds of workloads that a group can expect pods of. Owners of other kinds are as good as
// none: each of their pods counts by itself.
var WorkloadKinds = []WorkloadKind{
	row(KindDaemonSet, appsv1.SchemeGroupVersion.WithResource("daemonsets"),
		func(o *appsv1.DaemonSet) *corev1.PodTemplateSpec { return &o.Spec.Template }, viewDaemonSet),
	row(KindDeployment, appsv1.SchemeGroupVersion.WithResource("deployments"),
		func(o *appsv1.Deployment) *corev1.PodTemplateSpec { return &o.Spec.Template }, viewDeployment),
	row(KindReplicaSet, appsv1.SchemeGroupVersion.WithResource("replicasets"),
		func(o *appsv1.ReplicaSet) *corev1.PodTemplateSpec { return &o.Spec.Template }, viewReplicaSet),
	row(KindStatefulSet, appsv1.SchemeGroupVersion.WithResource("statefulsets"),
		func(o *appsv1.StatefulSet) *corev1.PodTemplateSpec { return &o.Spec.Template }, viewStatefulSet),
	row(KindJob, batchv1.SchemeGroupVersion.WithResource("jobs"),
		func(o *batchv1.Job) *corev1.PodTemplateSpec { return &o.Spec.Template }, viewJob),
	row(KindReplicationController, corev1.SchemeGroupVersion.WithResource("replicationcontrollers"),
		func(o *corev1.ReplicationController) *corev1.PodTemplateSpec { return o.Spec.Template }, viewReplicationController),
}

func row[T any, P interface {
	*T
	metav1.Object
}](kind Kind, resource schema.GroupVersionResource, template func(P) *corev1.PodTemplateSpec, view func(*Workload, P)) WorkloadKind {
	return WorkloadKind{
		Kind: kind, Resource: resource, Object: P(new(T)),
		Template: func(object metav1.Object) *corev1.PodTemplateSpec {
			if typed, ok := object.(P); ok {
				return template(typed)
			}
			return nil
		},
		view: func(w *Workload, object metav1.Object) bool {
			typed, ok := object.(P)
			if !ok {
				return false
			}
			w.Kind = kind
			if of := template(typed); of != nil {
				w.Labels, w.SchedulerName = of.Labels, of.Spec.SchedulerName
				for _, gate := range of.Spec.SchedulingGates {
					w.Gates = append(w.Gates, gate.Name)
				}
			}
			view(w, typed)
			return true
		},
	}
}

// isWorkload reports whether an owner is of a kind in the table.
func isWorkload(ref *metav1.OwnerReference) bool {
	group, _, hasGroup := strings.Cut(ref.APIVersion, "/")
	if !hasGroup {
		group = ""
	}
	for i := range WorkloadKinds {
		if row := &WorkloadKinds[i]; string(row.Kind) == ref.Kind {
			return row.Resource.Group == group
		}
	}
	return false
}

func viewDeployment(w *Workload, o *appsv1.Deployment) {
	w.Object = &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: o.Spec.Template}}
	w.Expected = int(ptr.Deref(o.Spec.Replicas, 1))
	w.Observed = o.Status.ObservedGeneration >= o.Generation
	w.AllCurrent = false // its pods are of several ReplicaSets; Revision is the UID of the newest
	w.Pause = pauseOf(o)
	for _, c := range o.Status.Conditions {
		w.viewRefusal(c.Type == appsv1.DeploymentReplicaFailure, c.Status, c.Message)
	}
}

func viewReplicaSet(w *Workload, o *appsv1.ReplicaSet) {
	w.Object = &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: o.Name, UID: o.UID, CreationTimestamp: o.CreationTimestamp},
		Spec:       appsv1.ReplicaSetSpec{Template: o.Spec.Template},
	}
	w.Expected = int(ptr.Deref(o.Spec.Replicas, 1))
	w.Observed = o.Status.ObservedGeneration >= o.Generation
	w.Owner, _ = controllerOfKind(o, appsv1.GroupName, string(KindDeployment))
	for _, c := range o.Status.Conditions {
		w.viewRefusal(c.Type == appsv1.ReplicaSetReplicaFailure, c.Status, c.Message)
	}
}

func viewReplicationController(w *Workload, o *corev1.ReplicationController) {
	w.Expected = int(ptr.Deref(o.Spec.Replicas, 1))
	w.Observed = o.Status.ObservedGeneration >= o.Generation
	for _, c := range o.Status.Conditions {
		w.viewRefusal(c.Type == corev1.ReplicationControllerReplicaFailure, c.Status, c.Message)
	}
}

func viewStatefulSet(w *Workload, o *appsv1.StatefulSet) {
	w.Expected = int(ptr.Deref(o.Spec.Replicas, 1))
	w.Observed = o.Status.ObservedGeneration >= o.Generation
	if o.Spec.Ordinals != nil {
		w.FirstOrdinal = int(o.Spec.Ordinals.Start)
	}
	w.Revision = o.Status.UpdateRevision
	w.KeepsOldPods = o.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
	strategy := o.Spec.UpdateStrategy
	partitioned := strategy.RollingUpdate != nil && ptr.Deref(strategy.RollingUpdate.Partition, 0) > 0
	w.AllCurrent = w.Revision == "" || partitioned || strategy.Type == appsv1.OnDeleteStatefulSetStrategyType
}

func viewDaemonSet(w *Workload, o *appsv1.DaemonSet) {
	w.Object = &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Generation: o.Generation}, Spec: appsv1.DaemonSetSpec{Template: o.Spec.Template},
	}
	w.Expected = int(o.Status.DesiredNumberScheduled)
	w.ReadyNodes, w.UpdatedNodes = int(o.Status.NumberReady), int(o.Status.UpdatedNumberScheduled)
	w.Observed = o.Status.ObservedGeneration >= o.Generation
	w.Revision = o.Annotations[appsv1.DeprecatedTemplateGeneration]
	// Its controller counts the nodes whose pod it takes for up to date. Once that is all of them they stay so: the pods that it
	// makes later are of the newest template, too.
	allUpdated := w.Observed && w.Expected > 0 && int(o.Status.UpdatedNumberScheduled) >= w.Expected
	w.AllCurrent = w.Revision == "" || allUpdated || o.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType
}

func viewJob(w *Workload, o *batchv1.Job) {
	w.Hook = IsUnorderedHook(o.Annotations) || IsUnorderedHook(o.Spec.Template.Annotations)
	parallelism := int(ptr.Deref(o.Spec.Parallelism, 1))
	completions := parallelism
	if o.Spec.Completions != nil {
		completions = int(*o.Spec.Completions)
	}
	w.Expected, w.ExpectedComplete = min(parallelism, completions), completions
	w.Owner, w.CronJob = controllerOfKind(o, batchv1.GroupName, "CronJob")
	if by := metav1.GetControllerOfNoCopy(o); by != nil && w.CronJob == "" {
		w.OwnedBy = by.Kind + " " + by.Name
	}
	for _, c := range o.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			w.Complete, w.CompletedAt = true, c.LastTransitionTime.Time
			if o.Status.CompletionTime != nil {
				w.CompletedAt = o.Status.CompletionTime.Time
			}
		case batchv1.JobFailed:
			w.Failed, w.FailedAt, w.Failure = true, c.LastTransitionTime.Time, fmt.Sprintf("%s: %s", c.Reason, c.Message)
		}
	}
}

// controllerOfKind returns the UID and the name of the object's controller if it is of a kind.
func controllerOfKind(object metav1.Object, group, kind string) (uid types.UID, name string) {
	ref := metav1.GetControllerOfNoCopy(object)
	if ref == nil || ref.Kind != kind || !strings.HasPrefix(ref.APIVersion, group+"/") {
		return "", ""
	}
	return ref.UID, ref.Name
}

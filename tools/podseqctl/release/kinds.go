package release

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kind is a kind of workload that can be released.
type kind struct {
	schema.GroupVersionKind
	// resource is the plural, as in RBAC.
	resource string
	// empty makes an object of the kind.
	empty func() client.Object
}

// kinds maps the name that kubectl uses to the kind.
var kinds = map[string]kind{
	"deployment":  {appsv1.SchemeGroupVersion.WithKind("Deployment"), "deployments", empty[appsv1.Deployment]},
	"statefulset": {appsv1.SchemeGroupVersion.WithKind("StatefulSet"), "statefulsets", empty[appsv1.StatefulSet]},
	"daemonset":   {appsv1.SchemeGroupVersion.WithKind("DaemonSet"), "daemonsets", empty[appsv1.DaemonSet]},
	"replicaset":  {appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), "replicasets", empty[appsv1.ReplicaSet]},
	"replicationcontroller": {
		corev1.SchemeGroupVersion.WithKind("ReplicationController"), "replicationcontrollers", empty[corev1.ReplicationController],
	},
	"job":     {batchv1.SchemeGroupVersion.WithKind("Job"), "jobs", empty[batchv1.Job]},
	"cronjob": {batchv1.SchemeGroupVersion.WithKind("CronJob"), "cronjobs", empty[batchv1.CronJob]},
	"pod":     {corev1.SchemeGroupVersion.WithKind("Pod"), "pods", empty[corev1.Pod]},
}

func empty[T any, P interface {
	*T
	client.Object
}]() client.Object {
	return P(new(T))
}

// Kinds returns the names of the kinds that can be released, in lower case.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// isNoticed reports whether the controller of a workload has seen the present template, so that it creates pods from it.
func isNoticed(workload client.Object) bool {
	observed := workload.GetGeneration()
	switch o := workload.(type) {
	case *appsv1.Deployment:
		observed = o.Status.ObservedGeneration
	case *appsv1.StatefulSet:
		observed = o.Status.ObservedGeneration
	case *appsv1.DaemonSet:
		observed = o.Status.ObservedGeneration
	case *appsv1.ReplicaSet:
		observed = o.Status.ObservedGeneration
	case *corev1.ReplicationController:
		observed = o.Status.ObservedGeneration
	}
	return observed >= workload.GetGeneration()
}

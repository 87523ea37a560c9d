package world

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Annotations that tell simulated kubelets what becomes of a pod.
const (
	readyAfter = "sandbox.podsequence.example.com/ready-after"
	failAfter  = "sandbox.podsequence.example.com/fail-after"
)

// The schedulers that pods name.
const (
	ourScheduler     = "podsequence-scheduler"
	anotherScheduler = "another-scheduler" // a profile of kube-scheduler
)

const (
	appLabel  = "app"
	tierLabel = "tier"
)

// app is a workload, or a pod without one.
type app struct {
	kind, namespace, name, tier string
	template                    corev1.PodTemplateSpec
	replicas                    int32
	// ttl is the time to live of a Job that has ended; nil for none.
	ttl *int32
}

func (a *app) labels() map[string]string {
	return map[string]string{appLabel: a.name, tierLabel: a.tier}
}

// podNames are the names of the app's pods, as far as they are known beforehand.
func (a *app) podNames() []string {
	switch a.kind {
	case "Pod":
		return []string{a.name}
	case "StatefulSet":
		names := make([]string, a.replicas)
		for i := range names {
			names[i] = fmt.Sprintf("%s-%d", a.name, i)
		}
		return names
	}
	return nil
}

// kinds of apps, as often as they are here.
var kinds = []string{
	"Pod", "Pod", "Pod", "Deployment", "Deployment", "StatefulSet", "StatefulSet", "DaemonSet", "DaemonSet", "Job",
	"ReplicaSet", "ReplicationController",
}

// object is what the API server is asked to create.
func (a *app) object() metav1.Object {
	meta := metav1.ObjectMeta{Namespace: a.namespace, Name: a.name, Labels: a.labels()}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: a.name}}
	apps := func(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "apps/v1", Kind: kind} }
	switch a.kind {
	case "Pod":
		return &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{
			Namespace: a.namespace, Name: a.name, Labels: a.template.Labels, Annotations: a.template.Annotations,
		}, Spec: a.template.Spec}
	case "Deployment":
		return &appsv1.Deployment{TypeMeta: apps(a.kind), ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
			Replicas: &a.replicas, Selector: selector, Template: a.template,
		}}
	case "ReplicaSet":
		return &appsv1.ReplicaSet{TypeMeta: apps(a.kind), ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{
			Replicas: &a.replicas, Selector: selector, Template: a.template,
		}}
	case "StatefulSet":
		return &appsv1.StatefulSet{TypeMeta: apps(a.kind), ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
			Replicas: &a.replicas, Selector: selector, Template: a.template, ServiceName: a.name,
		}}
	case "DaemonSet":
		return &appsv1.DaemonSet{TypeMeta: apps(a.kind), ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: a.template}}
	case "ReplicationController":
		return &corev1.ReplicationController{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: a.kind}, ObjectMeta: meta,
			Spec: corev1.ReplicationControllerSpec{Replicas: &a.replicas, Selector: selector.MatchLabels, Template: &a.template}}
	case "Job":
		return &batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: a.kind}, ObjectMeta: meta, Spec: batchv1.JobSpec{
			Parallelism: ptr.To(max(a.replicas, 1)), Completions: ptr.To(max(a.replicas, 1)), Template: a.template,
			BackoffLimit: ptr.To[int32](0), TTLSecondsAfterFinished: a.ttl,
		}}
	}
	panic("unknown kind " + a.kind)
}

func (a *app) inventTemplate(w *world) corev1.PodTemplateSpec {
	spec := corev1.PodSpec{
		SchedulerName: ourScheduler, NodeSelector: map[string]string{SeedLabel: w.prefix},
		Containers:                    []corev1.Container{{Name: "main", Image: "example.com/app:v1"}},
		TerminationGracePeriodSeconds: ptr.To[int64](1),
	}
	gated := w.chance(40)
	switch w.IntN(16) { // most are placed by our scheduler, whose bindings the referee judges
	case 0:
		spec.SchedulerName, gated = anotherScheduler, true
	case 1:
		spec.SchedulerName = anotherScheduler // nothing can hold it
	case 2:
		spec.SchedulerName, gated = corev1.DefaultSchedulerName, true // a policy gives it to ours
	}
	if gated {
		spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.DefaultSchedulingGateName}}
	}
	switch {
	case w.chance(10):
		spec.NodeSelector[zoneLabel] = "in"
	case w.chance(8) && a.kind != "DaemonSet":
		spec.NodeSelector[corev1.LabelHostname] = one(w.dice, w.nodes...).name
	}
	if a.kind == "Pod" && w.chance(6) {
		// The referee takes a pod of our scheduler that has a node for one that we placed.
		spec.NodeName, spec.SchedulingGates, spec.SchedulerName = w.nodes[0].name, nil, anotherScheduler
	}
	annotations := map[string]string{readyAfter: one(w.dice, "0s", "200ms", "500ms", "1s", "2s", "3s")}
	if a.kind == "Pod" && w.chance(8) {
		annotations[failAfter] = one(w.dice, "0s", "2s", "4s")
	}
	if a.kind == "Job" {
		spec.RestartPolicy = corev1.RestartPolicyNever
		if w.chance(25) {
			annotations[failAfter] = one(w.dice, "0s", "1s")
		}
		if w.chance(40) {
			a.ttl = ptr.To(one[int32](w.dice, 0, 1, 3))
		}
	}
	w.kubelets.report(a, annotations, &spec)
	if len(w.options.RealNodes) > 0 {
		makeRunnable(a.kind, annotations, &spec)
	}
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: a.labels(), Annotations: annotations}, Spec: spec}
}

// edit changes something about the workload.
func (a *app) edit(w *world, at time.Duration) {
	later := at + w.moment(500*time.Millisecond, 4*time.Second)
	bare := a.kind == "Pod"
	scales := a.kind != "DaemonSet" && a.kind != "Job" && !bare
	switch choice := w.IntN(7); {
	case choice == 0 && scales:
		a.replicas = int32(w.between(0, 4))
		w.patch(at, a.kind, a.namespace, a.name, object{"spec": object{"replicas": a.replicas}})
	case choice == 1 && !bare && a.kind != "Job":
		rollTo := func(at time.Duration, revision any) {
			w.patch(at, a.kind, a.namespace, a.name, object{"spec": object{"template": object{"metadata": object{"annotations": object{"revision": revision}}}}})
		}
		if rollTo(at, at.String()); w.chance(40) {
			rollTo(later, nil) // back again
		}
	case choice == 2 && bare:
		w.patch(at, a.kind, a.namespace, a.name, object{"metadata": object{"labels": object{tierLabel: one(w.dice, w.tiers...)}}})
	case choice == 3 || choice == 2:
		w.annotatePods(at, a, readyAfter, "never")
		if w.chance(70) {
			w.annotatePods(later, a, readyAfter, "0s")
		}
	case choice == 4:
		w.deletePods(at, a)
		if bare && w.chance(80) {
			w.create(later, a.kind, a.object())
		}
	case choice == 5:
		w.removeAs(at, one(w.dice, metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan), a.kind, a.namespace, a.name)
		if w.chance(70) {
			w.create(later, a.kind, a.object())
		}
	default:
		w.annotatePods(at, a, failAfter, "0s")
		w.annotatePods(later, a, failAfter, "never")
	}
}

package real

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	ourScheduler = "podsequence-scheduler"
	// image is the one of cmd/sandbox/workload, on every node.
	image = "localhost/podsequence/workload:1"
	// app is the label that workloads select their pods by, and sequences their groups.
	app = "app"
)

// workload is a container of the program cmd/sandbox/workload with these arguments: flags first, then the mode.
func workload(args ...string) corev1.Container {
	return corev1.Container{Name: "main", Image: image, ImagePullPolicy: corev1.PullIfNotPresent, Args: args}
}

// probed gives a container that serves a readiness probe.
func probed(container corev1.Container) corev1.Container {
	container.ReadinessProbe = &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(8080)}},
		PeriodSeconds: 1,
	}
	return container
}

// podSpec is one of our scheduler.
func podSpec(containers ...corev1.Container) corev1.PodSpec {
	return corev1.PodSpec{
		SchedulerName: ourScheduler, Containers: containers,
		TerminationGracePeriodSeconds: new(int64(5)), AutomountServiceAccountToken: new(false),
	}
}

// pod begins a bare pod with the label app=NAME.
func (s *story) pod(name string, containers ...corev1.Container) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: s.Meta(name), Spec: podSpec(containers...)}
	pod.Labels = map[string]string{app: name}
	return pod
}

func template(name string, containers ...corev1.Container) (*metav1.LabelSelector, corev1.PodTemplateSpec) {
	labels := map[string]string{app: name}
	return &metav1.LabelSelector{MatchLabels: labels},
		corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec(containers...)}
}

// deployment begins a Deployment whose pods have the label app=NAME.
func (s *story) deployment(name string, replicas int32, containers ...corev1.Container) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: s.Meta(name), Spec: appsv1.DeploymentSpec{Replicas: &replicas}}
	d.Spec.Selector, d.Spec.Template = template(name, containers...)
	return d
}

// daemonSet begins a DaemonSet whose pods have the label app=NAME.
func (s *story) daemonSet(name string, containers ...corev1.Container) *appsv1.DaemonSet {
	d := &appsv1.DaemonSet{ObjectMeta: s.Meta(name)}
	d.Spec.Selector, d.Spec.Template = template(name, containers...)
	return d
}

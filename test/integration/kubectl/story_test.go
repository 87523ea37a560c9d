package kubectl

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/test/harness/cluster"
)

const ourScheduler = "podsequence-scheduler"

// story is one test: a namespace, and somebody in it who has one role there.
type story struct{ *cluster.Person }

// newStory begins a story of somebody who has the role.
func newStory(t *testing.T, role string) *story {
	t.Helper()
	return &story{cluster.NewStory(t, shared).Person(role)}
}

// pod makes a pod of a tier that our scheduler places.
func (s *story) pod(name, tier string) *corev1.Pod {
	pod := st.MakePod().Namespace(s.Namespace).Name(name).Label("tier", tier).Container("work").SchedulerName(ourScheduler).Obj()
	// With a probe it counts as ready at once for kubectl podseq, as it does for the cluster, which asks no time of pods without one.
	pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
	return pod
}

// template makes a template of pods of a tier that our scheduler places.
func (s *story) template(tier string) corev1.PodTemplateSpec {
	pod := s.pod("", tier)
	pod.Namespace = ""
	return corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
}

// deployment makes a Deployment of such pods.
func (s *story) deployment(name, tier string, replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: s.Meta(name), Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": tier}}, Template: s.template(tier),
	}}
}

// unready makes a pod run and never turn ready.
func unready(pod *corev1.Pod) *corev1.Pod {
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, cluster.ReadyAfter, "never")
	return pod
}

func (s *story) awaitHeld(name string) {
	s.Helper()
	s.Await(name+" to be held", func() bool { return cluster.IsHeld(cluster.Get(s.Story, &corev1.Pod{}, name)) })
}

func (s *story) awaitReady(name string) {
	s.Helper()
	s.Await(name+" to be ready", func() bool { return cluster.IsReady(cluster.Get(s.Story, &corev1.Pod{}, name)) })
}

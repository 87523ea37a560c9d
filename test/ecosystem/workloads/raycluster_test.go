package workloads

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// podsOf creates pods of no workload, labelled app=APP.
func (s *story) podsOf(app string, count int) []corev1.Pod {
	s.Helper()
	return s.ownedPods(app, count, nil)
}

// ownedPods creates pods that an object owns, as operators do that have no workload between.
func (s *story) ownedPods(app string, count int, owner client.Object) (pods []corev1.Pod) {
	s.Helper()
	for range count {
		t := template(app)
		pod := s.Pod(fmt.Sprintf("%s-%s", app, s.unique()))
		pod.Labels, pod.Annotations, pod.Spec = t.Labels, t.Annotations, t.Spec
		if owner != nil {
			gvk, err := s.API.GroupVersionKindFor(owner)
			require.NoError(s, err)
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, gvk)}
		}
		s.Create(pod)
		pods = append(pods, *pod)
	}
	return pods
}

// Its operator creates the pods of the head and of the workers itself, in any order.
func TestWorkersOfARayClusterWaitForItsHead(t *testing.T) {
	s := newStory(t)
	ps := MakeSequence(s.Namespace, "shop").Mode(v1alpha1.Continuous).
		Label("Head", "app", "head").Label("Workers", "app", "worker").Label("Jobs", "app", "job").Obj()
	ps.Spec.PodGroups[0].ExpectedPods, ps.Spec.PodGroups[1].ExpectedPods = 1, 2
	s.Create(ps)
	ray := s.ofKind("ray.io/v1", "RayCluster", "ray")
	s.Create(ray)
	s.podsOf("job", 1)
	workers := s.ownedPods("worker", 2, ray)
	s.expectHeld("worker", 2)
	head := s.ownedPods("head", 1, ray)
	s.awaitBound("head", 1)
	s.makeReady(head...)
	s.awaitBound("worker", 2)
	s.makeReady(workers[0])
	s.expectHeld("job", 1)
	s.makeReady(workers[1])
	s.awaitBound("job", 1)

	// Its autoscaler adds a worker.
	s.makeReady(s.ownedPods("worker", 1, ray)...)
	s.awaitBound("worker", 3)
	// The head fails: workers that come now wait for the next one.
	s.Delete(s.Pod(head[0].Name))
	s.AwaitGone(s.Pod(head[0].Name))
	s.ownedPods("worker", 1, ray)
	s.awaitPods("worker", 4)
	s.fence()
	s.expectBound("worker", 3)
	s.makeReady(s.ownedPods("head", 1, ray)...)
	s.awaitBound("worker", 4)
}

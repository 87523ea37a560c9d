package autoscaler

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/test/harness/cluster"
)

// A node lists its GPUs only when the driver runs. Karpenter knows from the instance type how many there will be.
func TestGPUsThatTheDriverListsAreNotBoughtTwice(t *testing.T) {
	inBothWays(t, func(t *testing.T, by way) {
		s := newStory(t, by, pool{instanceType: withGPUs, bootTime: "2s"})
		s.Create(s.onGPU("train", 2))
		s.awaitDrivers(1)
		s.expectNodes(1)
		s.Create(s.onGPU("more", 1))
		s.awaitNodes(2) // although no node lists a GPU
		s.awaitDrivers(2)
		s.expectNodes(2)
		s.expectUnbound("train-")
		s.listGPUs()
		s.startDrivers()
		s.awaitBound("train-", 2)
		s.awaitBound("more-", 1)
		s.report()
		s.expectNodes(2)
	})
}

// onGPU is an application whose pods take a GPU each: two fit on a node.
func (s *story) onGPU(name string, replicas int32) *appsv1.Deployment {
	d := s.deployment(name, replicas)
	one := resource.MustParse("1")
	resources := &d.Spec.Template.Spec.Containers[0].Resources
	resources.Requests[corev1.ResourceCPU] = resource.MustParse("100m")
	resources.Requests[gpu], resources.Limits = one, corev1.ResourceList{gpu: one}
	return d
}

// listGPUs makes all nodes of the story list their GPUs, as device plugins do.
func (s *story) listGPUs() {
	s.Helper()
	for _, node := range s.nodesOf(s.Namespace) {
		cluster.ChangeStatus(s.Story, &node, func(n *corev1.Node) {
			for _, list := range []corev1.ResourceList{n.Status.Capacity, n.Status.Allocatable} {
				list[gpu] = resource.MustParse("2")
			}
		})
	}
}

// Pods that wait for other pods, whatever the node, need no node before their turn, and one at once when it has come.
func TestNoNodeIsMadeForAGroupBeforeItsTurn(t *testing.T) {
	t.Parallel()
	s := newStory(t, byPodSequence, pool{instanceType: small, bootTime: "0s"})
	database := s.template("database", "100m")
	database.Spec.NodeSelector, database.Annotations = nil, map[string]string{cluster.ReadyAfter: "never"}
	s.Create(
		s.sequence("shop").Label("Database", tier, "database").Label("Application", tier, "app").Obj(),
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "database", Labels: database.Labels, Annotations: database.Annotations},
			Spec:       database.Spec,
		},
	)
	s.awaitBound("database", 1)
	s.Create(s.deployment("web", 2))
	s.awaitPods("web-", 2, "held", cluster.IsHeld)
	s.expectNodes(0)

	turned := time.Now()
	s.Annotate(s.Pod("database"), cluster.ReadyAfter, "0s")
	s.awaitNodes(1)
	s.Logf("a node was bought %.1f s after the turn came", time.Since(turned).Seconds())
	s.awaitDrivers(1)
	s.startDrivers()
	s.awaitBound("web-", 2)
	s.expectNodes(1)
}

package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/test/harness/slow"
)

const (
	gpu            = corev1.ResourceName("example.com/gpu")
	startingOnNode = "they are starting on"
)

// with gives a node more of a resource.
func with(name corev1.ResourceName, amount string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		for _, list := range []corev1.ResourceList{n.Status.Capacity, n.Status.Allocatable} {
			list[name] = resource.MustParse(amount)
		}
	}
}

func requesting(p *st.PodWrapper, name corev1.ResourceName, amount string) *st.PodWrapper {
	list := corev1.ResourceList{name: resource.MustParse(amount)}
	p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: list, Limits: list}
	return p
}

// No more pods are held for nodes on the way than fit there. Autoscalers add nodes for pods that are unschedulable, and need not
// wait until the driver of the first node is ready.
func TestNoMorePodsAreHeldForANodeThanFitThere(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	t.Run("by what the node offers", func(t *testing.T) {
		s := newNodeStory(t)
		s.Create(s.driverThenApp().Obj(), s.driver())
		s.addNode("first", with(gpu, "1"))
		s.on("driver", "first")
		s.createPods(requesting(s.here("app-1", "app"), gpu, "1"), requesting(s.here("app-2", "app"), gpu, "1"))
		s.awaitHeldFor("app-1", startingOnNode)
		s.awaitUnschedulable("app-2", "node(s) waiting for group")
		s.expectUnplaced("app-1", "app-2")
		s.awaitHeldFor("app-1", startingOnNode)

		s.addNode("second", with(gpu, "1"))
		s.on("driver", "second")
		s.awaitHeldFor("app-2", startingOnNode+" 2 of 2")
		s.startOn("driver", "second")
		s.Await("one of them to be bound", func() bool { return s.onNode("app-1", "second") != s.onNode("app-2", "second") })
		s.fenceNodes()
		assert.False(t, s.onNode("app-1", "first") || s.onNode("app-2", "first"), "a pod is on a node whose driver is not ready")
		s.startOn("driver", "first")
		s.awaitBound("app-1", "app-2")
	})
	t.Run("and by what the pods there have taken, whatever sequence they belong to", func(t *testing.T) {
		s := newNodeStory(t)
		s.Create(s.driverThenApp().Obj(), s.driver())
		s.addNode("first") // with 4 CPUs
		s.on("driver", "first")
		s.createPods(requesting(s.here("app-1", "app"), corev1.ResourceCPU, "2"), requesting(s.here("app-2", "app"), corev1.ResourceCPU, "2"))
		s.awaitHeldFor("app-1", startingOnNode)
		s.awaitHeldFor("app-2", startingOnNode)
		s.createPods(requesting(s.here("other", "other"), corev1.ResourceCPU, "1"))
		s.awaitBound("other")
		s.awaitUnschedulable("app-2", "node(s) waiting for group")
		s.awaitHeldFor("app-1", startingOnNode)
		s.Delete(s.getPod("other"))
		s.awaitHeldFor("app-2", startingOnNode)
		s.expectUnplaced("app-1", "app-2")
		s.startOn("driver", "first")
		s.awaitBound("app-1", "app-2")
	})
}

func (s *nodeStory) onNode(pod, node string) bool {
	s.Helper()
	return s.getPod(pod).Spec.NodeName == s.node(node)
}

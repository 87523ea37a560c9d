package integration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/test/harness/slow"
)

const gpu = corev1.ResourceName("example.com/gpu")

// with gives a node another amount of a resource.
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

func (s *nodeStory) onNode(pod, node string) bool {
	s.Helper()
	return s.getPod(pod).Spec.NodeName == s.node(node)
}

// A pod that is not pinned to one node is not held: its scheduler tries it, so that an autoscaler sees it, and tries it again when a node
// opens.
func TestPodsAreTriedOnceANodeOpens(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	t.Run("a pod says for which group and on how many nodes it waits", func(t *testing.T) {
		s := newNodeStory(t, "a", "b")
		s.Create(s.driverThenApp().Obj(), s.driver())
		s.on("driver", "a")
		s.on("driver", "b")
		s.createPods(s.here("app", "app"))
		s.awaitUnschedulable("app", `2 node(s) waiting for group 1/2 "Driver" of PodSequence `+s.Namespace+"/storage")
		s.expectUnplaced("app")
		s.startOn("driver", "b")
		s.awaitBound("app")
		assert.True(t, s.onNode("app", "b"))
	})
	t.Run("50 pods go to nodes that open one by one and have ten of them each", func(t *testing.T) {
		s := newNodeStory(t)
		for i := range 5 {
			s.addNode(fmt.Sprint("n", i), with(corev1.ResourcePods, "11")) // one is the driver
		}
		s.Create(s.driverThenApp().Obj(), s.driver())
		want := map[string]int{"": 50}
		s.Create(s.deployment("app", "app", 50))
		s.awaitSpread("app", want)
		for i := range 5 {
			node := fmt.Sprint("n", i)
			s.startOn("driver", node)
			want[node], want[""] = 10, want[""]-10
			if want[""] == 0 {
				delete(want, "")
			}
			s.awaitSpread("app", want)
		}
	})
	t.Run("a pod that requests a device waits for its plugin", func(t *testing.T) {
		s := newNodeStory(t)
		s.addNode("plain")
		s.awaitTakesPods("plain")
		s.Create(s.perNode("gpus").Label("Plugin", "tier", "driver").NodeSelector("example.com/gpu", "yes").Label("Application", "tier", "app").Obj(),
			s.driver(func(p *corev1.PodSpec) { p.NodeSelector["example.com/gpu"] = "yes" }))
		s.createPods(requesting(s.here("app", "app"), gpu, "1"))
		s.awaitUnschedulable("app", "Insufficient example.com/gpu")

		s.addNode("gpu", labelled("example.com/gpu", "yes"))
		s.on("driver", "gpu")
		s.createPods(s.here("web", "app"))
		s.awaitBound("web")
		s.changeNodeStatus("gpu", with(gpu, "1"))
		s.fenceNodes()
		s.expectUnplaced("app")
		s.startOn("driver", "gpu")
		s.awaitBound("app")
	})
	t.Run("no node at all: an autoscaler sees the pod, and adds one", func(t *testing.T) {
		s := newNodeStory(t)
		s.Create(s.driverThenApp().Obj(), s.driver(), s.deployment("app", "app", 2))
		s.awaitSpread("app", map[string]int{"": 2})
		for name := range s.podsOf("app") {
			s.awaitUnschedulable(name)
		}
		s.addNode("new")
		driver := s.on("driver", "new")
		s.expectSpread("app", map[string]int{"": 2})
		s.makeReady(driver)
		s.awaitSpread("app", map[string]int{"new": 2})
	})
}

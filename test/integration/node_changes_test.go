package integration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

func TestADriverThatIsNotReadyAnyMore(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	t.Run("a driver that restarts: new pods avoid its node, running ones stay", func(t *testing.T) {
		s := newNodeStory(t, "a", "b")
		s.Create(s.driverThenApp().Obj(), s.driver())
		s.startOn("driver", "a", "b")
		s.createPods(s.pinned("running", "app", "a"))
		s.awaitBound("running")
		s.makeReady("running")

		s.breakOn("driver", "a")
		s.createPods(s.pinned("new-on-a", "app", "a"))
		s.Create(s.deployment("new", "app", 3))
		s.awaitSpread("new", map[string]int{"b": 3})
		s.expectUnplaced("new-on-a")
		assert.True(t, cluster.IsReady(s.getPod("running")))

		s.Delete(s.getPod(s.on("driver", "a")))
		replacement := s.on("driver", "a")
		s.expectUnplaced("new-on-a")
		s.makeReady(replacement)
		s.awaitBound("new-on-a")
	})
	t.Run("a driver's DaemonSet that rolls out: pods keep away from the node whose turn it is", func(t *testing.T) {
		s := newNodeStory(t, "a", "b")
		s.Create(s.driverThenApp().Obj(), s.driver())
		s.startOn("driver", "a", "b")
		before := map[string]string{"a": s.on("driver", "a"), "b": s.on("driver", "b")}
		s.changeDaemonSet("driver", func(d *appsv1.DaemonSet) {
			d.Spec.Template.Spec.Containers[0].Image = "example.com/new"
		})
		first, second := "a", "b"
		s.Await("the first node to get its new driver", func() bool {
			for name, pod := range s.podsOf("driver") {
				for _, node := range []string{"a", "b"} {
					if pod.Spec.NodeName == s.node(node) && name != before[node] {
						first = node
						return true
					}
				}
			}
			return false
		})
		if first == "b" {
			second = "a"
		}
		s.Create(s.deployment("new", "app", 2))
		s.createPods(s.pinned("pinned", "app", first))
		s.awaitSpread("new", map[string]int{second: 2})
		s.expectUnplaced("pinned")
		s.startOn("driver", first)
		s.awaitBound("pinned")
	})
	t.Run("the scheduler is killed in the middle", func(t *testing.T) {
		s := newNodeStoryIn(t, exclusively(t), "a", "b")
		s.Create(s.driverThenApp().Obj(), s.driver(), s.daemonSet("app", "app"))
		s.on("driver", "a")
		s.on("driver", "b")
		s.createPods(s.here("free", "app"))
		s.expectSpread("app", map[string]int{"": 2})
		require.NoError(t, s.Cluster.Kill(s.Ctx, controlplane.PodSequenceScheduler))
		s.startOn("driver", "a") // nobody is there to see it
		require.NoError(t, s.Cluster.StartComponent(s.Ctx, controlplane.PodSequenceScheduler))
		s.awaitSpread("app", map[string]int{"a": 1, "": 1})
		s.awaitBound("free")
		assert.Equal(t, s.node("a"), s.getPod("free").Spec.NodeName)
		require.NoError(t, s.Cluster.Kill(s.Ctx, controlplane.PodSequenceScheduler))
		s.breakOn("driver", "a")
		require.NoError(t, s.Cluster.StartComponent(s.Ctx, controlplane.PodSequenceScheduler))
		s.createPods(s.pinned("late", "app", "a"))
		s.expectUnplaced("late")
		s.expectSpread("app", map[string]int{"a": 1, "": 1})
		s.startOn("driver", "a", "b")
		s.awaitBound("late")
		s.awaitSpread("app", map[string]int{"a": 1, "b": 1})
	})
}

func TestNodesThatChangeWhilePodsWait(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	t.Run("a node is added that a pod is pinned to", func(t *testing.T) {
		s := newNodeStory(t)
		s.Create(s.driverThenApp().Obj(), s.driver())
		s.createPods(s.pinned("app", "app", "later"))
		s.awaitHeldFor("app", "this node does not exist yet")
		s.addNode("later")
		driver := s.on("driver", "later")
		s.expectUnplaced("app")
		s.makeReady(driver)
		s.awaitBound("app")
	})
	t.Run("a node is cordoned for a while", func(t *testing.T) {
		s := newNodeStory(t, "a", "b")
		s.Create(s.driverThenApp().Obj(), s.driver())
		s.on("driver", "a")
		s.on("driver", "b")
		s.createPods(s.here("app", "app"))
		s.awaitUnschedulable("app", `2 node(s) waiting for group 1/2 "Driver"`)
		s.changeNode("a", cordoned)
		s.expectUnplaced("app")
		s.startOn("driver", "a")
		s.expectUnplaced("app")
		s.changeNode("b", cordoned)
		s.awaitUnschedulable("app")
		s.changeNode("a", func(n *corev1.Node) { n.Spec.Unschedulable = false })
		s.awaitBound("app")
	})
	t.Run("a node is deleted, and another one comes", func(t *testing.T) {
		s := newNodeStory(t, "a")
		s.Create(s.driverThenApp().Obj(), s.driver())
		s.on("driver", "a")
		s.createPods(s.here("free", "app"), s.pinned("pinned", "app", "a"))
		s.expectUnplaced("free", "pinned")
		s.awaitUnschedulable("free", `1 node(s) waiting for group 1/2 "Driver"`)
		s.Delete(s.getNode("a"))
		s.awaitUnschedulable("free")
		s.expectUnplaced("pinned")
		s.addNode("b")
		s.startOn("driver", "b")
		s.awaitBound("free")
	})
	t.Run("a node is relabelled, so that the group before is not for it any more", func(t *testing.T) {
		s := newNodeStory(t)
		s.addNode("a", labelled("example.com/gpu", "yes"))
		s.addNode("b", labelled("example.com/gpu", "yes"))
		devices := s.perNode("storage").Label("Driver", "tier", "driver").NodeSelector("example.com/gpu", "yes").Label("Application", "tier", "app")
		s.Create(devices.Obj(), s.driver())
		s.on("driver", "a")
		s.on("driver", "b")
		s.createPods(s.pinned("pinned-a", "app", "a"), s.pinned("pinned-b", "app", "b"), s.here("free", "app"))
		s.expectUnplaced("pinned-a", "pinned-b", "free")
		s.changeNode("b", func(n *corev1.Node) { delete(n.Labels, "example.com/gpu") })
		s.awaitBound("pinned-b", "free")
		assert.Equal(t, s.node("b"), s.getPod("free").Spec.NodeName)
		s.expectUnplaced("pinned-a")
		s.changeNode("b", labelled("example.com/gpu", "yes"))
		s.fenceNodes()
		s.createPods(s.pinned("late", "app", "b"))
		s.expectUnplaced("late")
	})
	t.Run("a node is not ready for a while", func(t *testing.T) {
		s := newNodeStory(t, "a")
		s.Create(s.driverThenApp().Obj(), s.driver())
		driver := s.on("driver", "a")
		s.createPods(s.here("app", "app"))
		s.expectUnplaced("app")
		// The simulated kubelet would report it as ready at once.
		s.changeNode("a", func(n *corev1.Node) { delete(n.Annotations, managedByKwok) })
		s.setNodeReady("a", corev1.ConditionFalse)
		s.awaitUnschedulable("app")
		s.makeReady(driver)
		s.expectUnplaced("app")
		s.setNodeReady("a", corev1.ConditionTrue)
		s.awaitBound("app")
	})
}

func (s *nodeStory) changeDaemonSet(name string, change func(*appsv1.DaemonSet)) {
	s.Helper()
	cluster.Change(s.Story, &appsv1.DaemonSet{ObjectMeta: s.Meta(name)}, change)
}

// setNodeReady is what the node's kubelet would report.
func (s *nodeStory) setNodeReady(name string, status corev1.ConditionStatus) {
	s.Helper()
	cluster.ChangeStatus(s.Story, s.getNode(name), func(node *corev1.Node) {
		for i := range node.Status.Conditions {
			if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
				c.Status, c.LastHeartbeatTime, c.LastTransitionTime = status, metav1.Now(), metav1.Now()
			}
		}
	})
}

// A taint leaves the pod of a DaemonSet running and ready, and its controller wants one pod less.
func TestAPodOfADaemonSetOnANodeThatItLostStandsInForNoOther(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newNodeStory(t, "a", "b")
	set := s.daemonSet("agent", "agent")
	s.Create(s.sequence("shop").Group(tier("agent")).Pods("Application", "app").Obj(), set)
	s.startOn("agent", "a")
	s.createPods(s.pod("app"))
	s.expectHeld("app")
	s.changeNode("a", tainted("example.com/about-to-go"))
	changes := 0
	s.Await("the DaemonSet to want a pod on one node only", func() bool {
		changes++ // else its controller would not count again, after it has seen the taint
		s.Patch(set, fmt.Sprintf(`{"metadata":{"labels":{"changed":"%d"}}}`, changes))
		status := cluster.Get(s.Story, &appsv1.DaemonSet{}, set.Name).Status
		return status.DesiredNumberScheduled == 1 && status.NumberMisscheduled == 1 && status.NumberReady == 0
	})
	s.fenceNodes()
	s.expectHeld("app")
	s.startOn("agent", "b")
	s.awaitBound("app")
}

package integration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
)

// The simulated kubelet does not report on pods anew when a test boots its node: so the API says what it says before a kubelet
// reports.
func TestANodeThatBoots(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	t.Run("new pods wait until the driver is ready anew", func(t *testing.T) {
		s := newNodeStory(t, "a")
		s.Create(s.driverThenApp().Obj(), s.driver())
		s.bootNode("a", "first")
		driver := s.on("driver", "a")
		s.makeReady(driver)
		s.createPods(s.pinned("before", "app", "a"))
		s.awaitBound("before")

		s.bootNode("a", "second")
		s.createPods(s.pinned("after", "app", "a"))
		s.awaitHeldFor("after", "a pod was last ready before its node booted")
		s.expectUnplaced("after")
		require.True(t, cluster.IsReady(s.getPod(driver)), "as the API still says")

		s.breakOn("driver", "a")
		s.makeReady(driver)
		s.awaitBound("after")
	})
	t.Run("the kubelet says a minute later that it has been ready", func(t *testing.T) {
		s := newNodeStory(t, "a")
		s.Create(s.driverThenApp().Obj(), s.driver())
		s.bootNode("a", "first")
		s.makeReady(s.on("driver", "a"))
		s.bootNode("a", "second")
		s.createPods(s.pinned("app", "app", "a"))
		s.expectUnplaced("app")
		s.reportNode("a", "second", metav1.NewTime(time.Now().Add(2*time.Minute)))
		s.awaitBound("app")
	})
}

// bootNode makes the node's kubelet report a boot now.
func (s *nodeStory) bootNode(name, bootID string) {
	s.Helper()
	// Of a second in which a pod turned ready nobody can say what came first.
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	s.reportNode(name, bootID, metav1.Now())
}

// reportNode makes the node's kubelet report that the node is ready, and has been since long before.
func (s *nodeStory) reportNode(name, bootID string, at metav1.Time) {
	s.Helper()
	cluster.ChangeStatus(s.Story, s.getNode(name), func(node *corev1.Node) {
		node.Status.NodeInfo.BootID = bootID
		for i := range node.Status.Conditions {
			if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
				c.LastHeartbeatTime, c.LastTransitionTime = at, metav1.NewTime(at.Add(-time.Hour))
			}
		}
	})
}

package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/test/harness/slow"
)

// changeNodeStatus changes what a kubelet reports of its node.
func (s *nodeStory) changeNodeStatus(name string, change func(*corev1.Node)) {
	s.Helper()
	node := s.getNode(name)
	before := node.DeepCopy()
	change(node)
	require.NoError(s, s.API.Status().Patch(s.Ctx, node, client.StrategicMergeFrom(before)))
}

// A kubelet that is silent changes nothing about its pods: what is known of the node says why they are not ready.
func TestStatusSaysThatANodeIsNotReady(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newNodeStory(t, "a")
	s.Create(s.driverThenApp().Obj(), s.driver())
	s.on("driver", "a")
	s.createPods(s.pinned("app", "app", "a"))
	s.awaitHeldFor("app", "0 of 1 pods ready")
	const want = "has not been ready since 2026-01-01T12:01:03Z (NodeStatusUnknown: Kubelet stopped posting node status)"
	says := func() string {
		for _, n := range s.getSequence("storage").Status.NodeStatus {
			return n.Conditions[0].Message
		}
		return ""
	}
	unknown := func(node *corev1.Node) {
		for i := range node.Status.Conditions {
			if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
				*c = corev1.NodeCondition{
					Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown", Message: "Kubelet stopped posting node status.",
					LastHeartbeatTime: c.LastHeartbeatTime, LastTransitionTime: metav1.Date(2026, 1, 1, 12, 1, 3, 0, time.UTC),
				}
			}
		}
	}
	s.Await("status to say that the node is not ready", func() bool {
		s.changeNodeStatus("a", unknown) // the simulated kubelet may say once more that it is ready
		return strings.Contains(says(), s.node("a")+" "+want)
	})
	s.createPods(s.pinned("later", "app", "a"))
	s.awaitHeldFor("later", "0 of 1 pods ready")
	s.expectUnplaced("app", "later")
}

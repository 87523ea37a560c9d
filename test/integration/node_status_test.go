package integration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

func TestStatusOfNodes(t *testing.T) {
	t.Parallel()
	t.Run("a node is listed while it waits, and the sum of all is the sequence's", func(t *testing.T) {
		s := newNodeStory(t, "a", "b", "idle")
		s.changeNode("idle", labelled(ofStory, "nobody"))
		s.Create(s.driverThenApp().Obj(), s.driver(), s.daemonSet("app", "app"))
		s.on("driver", "a")
		s.on("driver", "b")
		s.awaitNodes("storage", v1alpha1.NodeSummary{Total: 2, Waiting: 2}, map[string]string{
			"a": "0 InProgress: 0 of 1 pods ready", "b": "0 InProgress: 0 of 1 pods ready",
		})
		status := s.getSequence("storage").Status
		assert.Equal(t, v1alpha1.PhaseInProgress, status.Phase)
		assert.Equal(t, ptr.To[int32](0), status.CurrentIndex)
		assert.Equal(t, "1/2 Driver", status.CurrentGroup)

		s.startOn("driver", "a")
		s.awaitNodes("storage", v1alpha1.NodeSummary{Total: 2, Waiting: 2}, map[string]string{
			"a": "1 InProgress: 0 of 1 pods ready", "b": "0 InProgress: 0 of 1 pods ready",
		})
		s.startOn("app", "a")
		s.awaitNodes("storage", v1alpha1.NodeSummary{Total: 2, Completed: 1, Waiting: 1}, map[string]string{
			"b": "0 InProgress: 0 of 1 pods ready",
		})
		s.startOn("driver", "b")
		s.startOn("app", "b")
		s.awaitPhase("storage", v1alpha1.PhaseCompleted)
		status = s.getSequence("storage").Status
		assert.Equal(t, ptr.To[int32](2), status.CurrentIndex)
		assert.Equal(t, &v1alpha1.NodeSummary{Total: 2, Completed: 2}, status.NodeSummary)
		assert.Empty(t, status.NodeStatus)

		s.addNode("new")
		s.awaitPhase("storage", v1alpha1.PhaseInProgress)
		s.startOn("driver", "new")
		s.startOn("app", "new")
		s.awaitPhase("storage", v1alpha1.PhaseCompleted)
	})
	t.Run("a driver that is too late fails its node, until it is ready after all", func(t *testing.T) {
		s := newNodeStory(t, "a")
		late := s.perNode("storage").Label("Driver", "tier", "driver").Timeout("1s", v1alpha1.TimeoutFail).Label("Application", "tier", "app")
		s.Create(late.Obj(), s.driver())
		s.on("driver", "a")
		s.createPods(s.pinned("app", "app", "a"))
		s.Await("the node to have failed", func() bool {
			nodes := s.getSequence("storage").Status.NodeStatus
			return len(nodes) == 1 && nodes[0].Phase == v1alpha1.NodeFailed &&
				meta.FindStatusCondition(nodes[0].Conditions, v1alpha1.ConditionReady).Reason == v1alpha1.ReasonPodsReadyTimeout
		})
		s.expectUnplaced("app")
		s.startOn("driver", "a")
		s.awaitBound("app")
	})
}

// awaitNodes waits until status says this of the nodes: the index of the current group, the phase, and what is waited for.
func (s *nodeStory) awaitNodes(sequence string, summary v1alpha1.NodeSummary, want map[string]string) {
	s.Helper()
	cluster.Eventually(s, "status of nodes", func() error {
		last, got := s.getSequence(sequence).Status, map[string]string{}
		for _, n := range last.NodeStatus {
			message := meta.FindStatusCondition(n.Conditions, v1alpha1.ConditionReady).Message
			got[n.NodeName[len(s.Namespace)+1:]] = fmt.Sprintf("%d %s: %s", n.CurrentIndex, n.Phase, message)
		}
		if !assert.ObjectsAreEqual(want, got) || !assert.ObjectsAreEqual(&summary, last.NodeSummary) {
			return fmt.Errorf("want %+v, %v; status says %+v, %v", summary, want, last.NodeSummary, got)
		}
		return nil
	})
}

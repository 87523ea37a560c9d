package integration

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// heavy tests keep two processors busy, and take turns. One after the other they take longer than anything else here, so they
// are in the last file of the package that has tests: Go begins with the last parallel test. That is the one whose stories are
// short, since it runs beside most others.
var heavy cluster.Turns

// Each of many nodes has a driver and two pods that wait for it. The drivers turn ready one after another as fast as the
// API server takes it; measured is the time until the pods are bound. One more pod may go to any node: it is refused by all of them at once,
// which people and autoscalers are told, and kept apart from the unschedulable pods.
func TestManyNodes(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	heavy.Take(t)
	const nodes, perNode = 100, 2
	env := startCluster(t, controlplane.Options{Nodes: nodes})
	s := &nodeStory{story: newStoryIn(t, env)}
	everywhere := func(d *appsv1.DaemonSet) *appsv1.DaemonSet {
		delete(d.Spec.Template.Spec.NodeSelector, ofStory)
		return d
	}
	s.Create(s.driverThenApp().Obj(), everywhere(s.driver()))
	s.awaitCount("all drivers to be bound", nodes, func() int { return s.countBound("driver") })
	s.Create(everywhere(s.daemonSet("one", "app")), everywhere(s.daemonSet("two", "app")))
	s.awaitCount("all pods that need them to be there", nodes*perNode, func() int { return len(s.podsOf("one")) + len(s.podsOf("two")) })
	s.fence()
	require.Zero(t, s.countBound("app"))
	s.createPods(s.pod("anywhere").Label("tier", "app"))
	s.awaitUnschedulable("anywhere", fmt.Sprintf(`%d node(s) waiting for group 1/2 "Driver" of PodSequence `, nodes))
	s.awaitCount("the pod to be apart, with those that are held", nodes*perNode+1, func() int {
		return int(s.Cluster.Metric(s, controlplane.PodSequenceScheduler, `scheduler_pending_pods{queue="gated"} `))
	})

	readyToBound := s.measureReadyToBound(nodes * perNode)
	slices.Sort(readyToBound)
	t.Logf("from a driver's being ready to the binding of a pod that waits for it, %d nodes: median %s, worst %s",
		nodes, readyToBound[len(readyToBound)/2], readyToBound[len(readyToBound)-1])
	s.awaitBound("anywhere")
	cluster.Eventually(s, "status to be right", func() error {
		status := s.getSequence("storage").Status
		if want := (v1alpha1.NodeSummary{Total: nodes, Waiting: nodes}); status.NodeSummary == nil || *status.NodeSummary != want {
			return fmt.Errorf("status counts %+v, want %+v", status.NodeSummary, want)
		}
		return nil
	})
}

// Large sequences have a cluster of their own: taking them down would keep the next test's cluster busy.
func TestLarge(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	heavy.Take(t)
	env := startCluster(t, controlplane.Options{})
	t.Run("hundreds of sequences in one namespace", func(t *testing.T) { hundredsOfSequences(newStoryIn(t, env)) })
	t.Run("a group of many pods by label", func(t *testing.T) { manyPodsByLabel(newStoryIn(t, env)) })
}

// Whatever is killed in the middle of a sequence, and started again, the sequence completes and the referee is content.
func TestKilledInTheMiddle(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	heavy.Take(t)
	env := exclusively(t)
	for _, victim := range []string{
		controlplane.PodSequenceScheduler, controlplane.PodSequenceController, controlplane.ControllerManager,
		controlplane.APIServer, controlplane.Etcd,
	} {
		t.Run(victim, func(t *testing.T) {
			s := newStoryIn(t, env)
			s.startMany(60)
			s.Restart(victim)
			if victim == controlplane.APIServer || victim == controlplane.Etcd {
				s.restartKubelets()
			}
			s.awaitManyCompleted()
		})
	}
}

package autoscaler

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/test/harness/cluster"
)

// Pools that serve all stories.
const (
	// fencePool has nodes for fenceKarpenter.
	fencePool = "fence"
	// emptyPool has nodes that become empty, see awaitConsolidation.
	emptyPool = "empty"
)

// createPools creates the NodePools that serve all stories.
func (e *environment) createPools() error {
	return e.apply(pool{name: fencePool, instanceType: small, bootTime: "0s"}.manifest() + "---" +
		pool{name: emptyPool, instanceType: small, bootTime: "0s", consolidateAfter: "1s"}.manifest())
}

// awaitConsolidation waits until Karpenter has removed a node that was empty no earlier than now: it looks at all nodes each time, so it
// has looked at those that were empty before, too.
func (s *story) awaitConsolidation() {
	s.Helper()
	s.fences++
	name := fmt.Sprintf("empty-%d", s.fences)
	key := s.Namespace + "-" + name
	pod := &corev1.Pod{ObjectMeta: s.Meta(name), Spec: s.template("empty", "100m").Spec}
	pod.Spec.SchedulerName, pod.Spec.Tolerations = corev1.DefaultSchedulerName, []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	pod.Spec.NodeSelector = map[string]string{poolLabel: emptyPool, "example.com/fence": key}
	s.Create(pod)
	node := ""
	s.Await(name+" to be bound", func() bool {
		node = cluster.Get(s.Story, &corev1.Pod{}, name).Spec.NodeName
		return node != ""
	})
	s.Delete(s.Pod(name))
	s.Await("the empty node to be removed", func() bool {
		for _, n := range s.nodesOf(emptyPool) {
			if n.Name == node {
				return false
			}
		}
		return true
	})
}

package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/slow"
)

// What is written for the cluster's own scheduler, with a gate, works unchanged: the routing policy of our installation
// gives it to our scheduler.
func TestGatedPodsOfTheDefaultSchedulerAreRouted(t *testing.T) {
	t.Parallel()
	newStory(t).awaitRouting()
	t.Run("in cluster scope", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.threeTiers().Obj())
		for _, tier := range tiers {
			s.createPods(s.gated(tier).SchedulerName(""))
			assert.Equal(t, ourScheduler, s.getPod(tier).Spec.SchedulerName)
		}
		s.startInOrder()
	})
	t.Run("in node scope", func(t *testing.T) {
		s := newNodeStory(t, "a", "b")
		gated := func(spec *corev1.PodSpec) {
			spec.SchedulerName = ""
			spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.DefaultSchedulingGateName}}
		}
		s.Create(s.driverThenApp().Obj(), s.daemonSet("driver", "driver", gated), s.daemonSet("app", "app", gated))
		s.on("driver", "a")
		s.on("driver", "b")
		s.createPods(s.here("free", "app").SchedulerName("").SchedulingGates([]string{v1alpha1.DefaultSchedulingGateName}))
		s.expectSpread("app", map[string]int{"": 2})
		s.startOn("driver", "a")
		s.awaitSpread("app", map[string]int{"a": 1, "": 1})
		s.awaitBound("free")
		assert.Equal(t, s.node("a"), s.getPod("free").Spec.NodeName)
		s.expectSpread("app", map[string]int{"a": 1, "": 1})
		s.startOn("driver", "b")
		s.awaitSpread("app", map[string]int{"a": 1, "b": 1})
	})
	t.Run("others are left alone: without a gate of ours, or of a scheduler that was chosen", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.sequence("shop").Pods("One", "one").Pods("Two", "chosen").Obj())
		s.createPods(
			s.pod("free").SchedulerName(""),
			s.pod("foreign").SchedulerName("").SchedulingGates([]string{foreignGate}),
			s.gated("chosen").SchedulerName(stockScheduler),
		)
		assert.Equal(t, corev1.DefaultSchedulerName, s.getPod("free").Spec.SchedulerName)
		assert.Equal(t, corev1.DefaultSchedulerName, s.getPod("foreign").Spec.SchedulerName)
		assert.Equal(t, stockScheduler, s.getPod("chosen").Spec.SchedulerName)
		s.awaitBound("free")
	})
}

func TestAGatedPodOfAnotherSchedulerInNodeScopeStaysGated(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newNodeStory(t, "a")
	s.Create(s.driverThenApp().Obj(), s.driver())
	s.startOn("driver", "a")
	ourGate := []string{v1alpha1.DefaultSchedulingGateName}
	s.createPods(
		s.pinned("theirs", "app", "a").SchedulerName(stockScheduler).SchedulingGates(ourGate),
		s.pinned("theirs-first", "driver", "a").SchedulerName(stockScheduler).SchedulingGates(ourGate),
		s.pinned("ours", "app", "a"),
	)
	s.awaitDegraded("storage", v1alpha1.ReasonUnsupportedScope)
	s.awaitHeldFor("theirs", "only it supports scope Node of PodSequence ")
	s.awaitBound("ours")
	s.expectHeld("theirs", "theirs-first")
	assert.Equal(t, ourGate, gates(s.getPod("theirs")))
	assert.Equal(t, ourGate, gates(s.getPod("theirs-first")))
}

// awaitRouting waits until the policy counts, which takes the API server some time after its start.
func (s *story) awaitRouting() {
	s.Helper()
	s.Await("the policy to count", func() bool {
		probe := s.gated("probe").SchedulerName("").Obj()
		require.NoError(s, s.API.Create(s.Ctx, probe, client.DryRunAll))
		return probe.Spec.SchedulerName == ourScheduler
	})
}

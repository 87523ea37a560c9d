package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

const (
	customGate  = "podsequence.example.com/shop"
	foreignGate = "other.example.com/gate"
)

func gates(p *corev1.Pod) []string {
	var names []string
	for _, g := range p.Spec.SchedulingGates {
		names = append(names, g.Name)
	}
	return names
}

func TestGates(t *testing.T) {
	t.Parallel()
	for _, scheduler := range []string{ourScheduler, stockScheduler} {
		t.Run("a sequence lifts the gate that its spec names, for pods of "+scheduler, func(t *testing.T) {
			s := newStory(t)
			s.Create(s.threeTiers().Gate(customGate).Obj())
			for _, tier := range tiers {
				s.createPods(s.pod(tier).SchedulerName(scheduler).SchedulingGates([]string{customGate}))
			}
			s.startInOrder()
		})
		t.Run("a gate of another system stays, for pods of "+scheduler, func(t *testing.T) {
			s := newStory(t)
			s.Create(s.sequence("shop").Pods("One", "one").Obj())
			s.createPods(s.pod("one").SchedulerName(scheduler).
				SchedulingGates([]string{foreignGate, v1alpha1.DefaultSchedulingGateName}))
			s.Await("our gate to be lifted", func() bool { return len(gates(s.getPod("one"))) == 1 })
			s.expectHeld("one")
			assert.Equal(t, []string{foreignGate}, gates(s.getPod("one")))
		})
		t.Run("what only a gate of another system holds does not say that it waits for a group, for pods of "+scheduler, func(t *testing.T) {
			s := newStory(t)
			s.Create(s.sequence("shop").Pods("One", "one").Pods("Two", "two").Obj())
			both := []string{foreignGate, v1alpha1.DefaultSchedulingGateName}
			s.createPods(s.pod("one"), s.pod("two").SchedulerName(scheduler).SchedulingGates(both))
			s.awaitHeldFor("two", "group 1/2")
			s.fence() // it is not told once more
			s.awaitBound("one")
			s.makeReady("one")
			s.awaitHeldFor("two", "non-empty scheduling gates")
			assert.Equal(t, []string{foreignGate}, gates(s.getPod("two")))
		})
		t.Run("what its gate holds when its sequence is gone does not say that it waits for a group, for pods of "+scheduler, func(t *testing.T) {
			s := newStory(t)
			s.Create(s.threeTiers().Obj())
			s.createPods(s.gated("app").SchedulerName(scheduler))
			s.awaitHeldFor("app", "group 1/3")
			s.fence() // it is not told once more
			s.Delete(s.getSequence("shop"))
			s.awaitHeldFor("app", "non-empty scheduling gates")
		})
	}

	t.Run("a gate whose prefix is not allowed is left alone and reported", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.sequence("shop").Gate(foreignGate).Pods("One", "one", "two").Obj())
		s.createPods(
			s.pod("one").SchedulingGates([]string{foreignGate}),
			s.pod("two").SchedulerName(stockScheduler).SchedulingGates([]string{foreignGate}),
		)
		s.awaitDegraded("shop", v1alpha1.ReasonGateNotAllowed)
		s.expectHeld("one", "two")
		assert.Equal(t, []string{foreignGate}, gates(s.getPod("one")))
	})
	t.Run("a pod that no sequence speaks of keeps its gate", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.sequence("shop").Pods("One", "one").Obj())
		s.createPods(s.gated("stranger"), s.gated("stock-stranger").SchedulerName(stockScheduler))
		s.expectHeld("stranger", "stock-stranger")
	})
}

// awaitDegraded waits until the sequence reports this.
func (s *story) awaitDegraded(sequence, reason string) {
	s.Helper()
	s.Await(sequence+" to be degraded: "+reason, func() bool {
		c := meta.FindStatusCondition(s.getSequence(sequence).Status.Conditions, v1alpha1.ConditionDegraded)
		return c != nil && c.Status == "True" && c.Reason == reason
	})
}

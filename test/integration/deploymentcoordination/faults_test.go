package deploymentcoordination

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	v1 "example.com/podsequence/apis/apps/v1"
)

func TestOverlappingCoordinations(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	all := s.coordination("all")
	front := s.coordination("front")
	front.Spec.LabelSelector = &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{
		{Key: "tier", Operator: v1.LabelSelectorOpIn, Values: []v1.LabelValue{"front"}},
	}}
	s.coordinate(all)
	s.Create(front)
	for _, name := range []string{"a", "b", "c", "d"} {
		d := s.deployment(name)
		if name > "a" {
			d.Labels["tier"] = "front"
		}
		if name == "d" {
			delete(d.Labels, "app") // only front matches it
		}
		if name == "d" {
			s.awaitCondition("front", v1.ConditionDegraded, "True "+v1.ReasonOverlappingCoordination)
		}
		s.Create(d)
	}
	for _, name := range []string{"all", "front"} {
		s.awaitCondition(name, v1.ConditionDegraded, "True "+v1.ReasonOverlappingCoordination)
	}
	for _, name := range []string{"all", "front"} {
		s.awaitReady(name)
	}
	s.awaitComplete("a", "b", "c", "d")
	assert.ElementsMatch(t, []string{"a", "b", "c", "d"}, s.verdict().Order())
	s.awaitEvent(v1.ReasonOverlappingCoordination)

	t.Log("one of them is deleted: the other goes on alone")
	s.Delete(all)
	s.awaitCondition("front", v1.ConditionDegraded, "False "+v1.ReasonAsExpected)
}

func TestControllerKilledAtEveryStage(t *testing.T) {
	nothing := func() {}
	s := newStory(t)
	s.rolledOut(s.coordination("shop", minReady(2)), "a", "b", "c")
	began := len(s.verdict().Rollouts)

	t.Log("changes while it is down: the policy has them wait")
	s.WhileControllerDown(func() {
		for _, name := range []string{"c", "b", "a"} {
			s.update(name, image("2", "never"))
			assert.True(t, s.get(name).Spec.Paused)
		}
	})
	s.awaitActive("a")
	s.WhileControllerDown(nothing) // before or after a is unpaused

	t.Log("the rollout ends while it is down")
	s.awaitUnpaused("a")
	s.WhileControllerDown(func() {
		s.update("a", image("3", "0s"))
		s.awaitComplete("a")
	})
	s.WhileControllerDown(nothing) // while it waits for minReadySeconds
	s.awaitActive("b")
	s.WhileControllerDown(nothing)
	s.update("b", image("3", "0s"))
	s.update("c", image("3", "0s"))
	s.WhileControllerDown(nothing)
	s.awaitReady("shop")
	s.awaitComplete("a", "b", "c")

	var order []string
	for _, r := range s.after(began) {
		if n := len(order); n == 0 || order[n-1] != r.Deployment.Name {
			order = append(order, r.Deployment.Name)
		}
	}
	assert.Equal(t, []string{"a", "b", "c"}, order)
	for i := 1; i < len(s.after(began)); i++ {
		earlier, later := s.after(began)[i-1], s.after(began)[i]
		if earlier.Deployment != later.Deployment {
			idle := later.Began.Sub(s.finished(earlier.Deployment.Name))
			assert.GreaterOrEqual(t, idle, 3*time.Second, "%s after %s: one more second is counted", later.Deployment, earlier.Deployment)
		}
	}
}

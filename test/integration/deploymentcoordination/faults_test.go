package deploymentcoordination

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"

	v1 "example.com/podsequence/apis/apps/v1"
)

func TestOverlappingCoordinations(t *testing.T) {
	s := newStory(t)
	all := s.coordination("all")
	front := s.coordination("front")
	front.Spec.LabelSelector = v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{
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

func TestARolloutThatTakesTooLong(t *testing.T) {
	t.Run("Halt keeps the turn, until it is ready after all", func(t *testing.T) {
		s := newStory(t)
		s.rolledOut(s.coordination("shop", timeout(2, v1.TimeoutHalt)), "a", "b")
		s.update("a", image("2", "never"))
		s.update("b", image("2", "0s"))
		s.awaitCondition("shop", v1.ConditionDegraded, "True "+v1.ReasonRolloutTimedOut)
		s.awaitEvent(v1.ReasonRolloutTimedOut)
		s.fence()
		assert.True(t, s.get("b").Spec.Paused)
		s.update("a", image("3", "0s"))
		s.awaitReady("shop")
		s.awaitCondition("shop", v1.ConditionDegraded, "False "+v1.ReasonAsExpected)
		s.awaitComplete("a", "b")
	})
	t.Run("Skip goes on with the next, until the template changes", func(t *testing.T) {
		s := newStory(t)
		// A loaded machine must be able to roll out b in that time.
		s.rolledOut(s.coordination("shop", timeout(15, v1.TimeoutSkip)), "a", "b")
		s.update("a", image("2", "never"))
		s.update("b", image("2", "0s"))
		s.awaitCondition("shop", v1.ConditionDegraded, "True "+v1.ReasonRolloutTimedOut)
		s.awaitUnpaused("b")
		s.awaitComplete("b")
		s.fence()
		assert.True(t, s.get("a").Spec.Paused)
		s.update("a", image("3", "0s"))
		s.awaitReady("shop")
		s.awaitComplete("a", "b")
	})
	t.Run("Skip goes on with the next, until somebody resumes it", func(t *testing.T) {
		s := newStory(t)
		skip := func(spec *v1.DeploymentCoordinationSpec) { spec.OnTimeout = v1.TimeoutSkip }
		s.rolledOut(s.coordination("shop", skip), "a")
		s.update("a", func(d *appsv1.Deployment) {
			image("2", "never")(d)
			d.Spec.ProgressDeadlineSeconds = new(int32(2))
		})
		s.Await("a to be skipped", func() bool { return s.status("shop").DeploymentStates[0].Skipped != "" })
		s.awaitPaused("a")
		s.update("a", func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = nil })
		s.update("a", unpause)
		s.awaitActive("a")
		s.fence()
		assert.False(t, s.get("a").Spec.Paused)
		assert.Empty(t, s.status("shop").DeploymentStates[0].Skipped)
		assert.Zero(t, s.events()[v1.ReasonPauseReverted], "it has the turn, and nobody is in its way")
		s.update("a", image("3", "0s"))
		s.awaitReady("shop")
	})
	t.Run("no time passes while its owner has it paused", func(t *testing.T) {
		s := newStory(t)
		s.rolledOut(s.coordination("shop", timeout(20, v1.TimeoutSkip)), "a")
		s.update("a", image("2", "never"))
		s.awaitActive("a")
		s.awaitUnpaused("a")
		s.update("a", func(d *appsv1.Deployment) { d.Spec.Paused = true })
		s.Await("the clock to stop", func() bool { return s.status("shop").ActiveSince == nil })
		assert.Equal(t, s.Namespace+"/a", s.status("shop").ActiveDeployment)
		s.update("a", unpause)
		s.Await("the clock to begin anew", func() bool { return s.status("shop").ActiveSince != nil })
		s.update("a", image("3", "0s"))
		s.awaitReady("shop")
	})
}

func TestARolloutThatExceedsItsOwnDeadline(t *testing.T) {
	s := newStory(t)
	skip := func(spec *v1.DeploymentCoordinationSpec) { spec.OnTimeout = v1.TimeoutSkip }
	s.rolledOut(s.coordination("shop", skip), "a", "b")
	s.update("a", func(d *appsv1.Deployment) {
		image("2", "never")(d)
		d.Spec.ProgressDeadlineSeconds = new(int32(2))
	})
	s.update("b", image("2", "0s"))
	s.awaitCondition("shop", v1.ConditionDegraded, "True "+v1.ReasonProgressDeadlineExceeded)
	s.awaitUnpaused("b")
	s.awaitComplete("b")
	s.fence()
	assert.True(t, s.get("a").Spec.Paused)
}

func TestControllerKilledAtEveryStage(t *testing.T) {
	nothing := func() {}
	s := newStory(t)
	s.rolledOut(s.coordination("shop", minReady(2)), "a", "b", "c")
	began := len(s.verdict().Rollouts)

	t.Log("changes while it is down: the policy has them wait")
	s.WithoutController(func() {
		for _, name := range []string{"c", "b", "a"} {
			s.update(name, image("2", "never"))
			assert.True(t, s.get(name).Spec.Paused)
		}
	})
	s.awaitActive("a")
	s.WithoutController(nothing) // before or after a is unpaused

	t.Log("the rollout ends while it is down")
	s.awaitUnpaused("a")
	s.WithoutController(func() {
		s.update("a", image("3", "0s"))
		s.awaitComplete("a")
	})
	s.WithoutController(nothing) // while it waits for minReadySeconds
	s.awaitActive("b")
	s.WithoutController(nothing)
	s.update("b", image("3", "0s"))
	s.update("c", image("3", "0s"))
	s.WithoutController(nothing)
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

package deploymentcoordination

import (
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"

	v1 "example.com/podsequence/apis/apps/v1"
)

func TestARolloutThatTakesTooLong(t *testing.T) {
	t.Parallel()
	t.Run("Halt keeps the turn, until it is ready after all", func(t *testing.T) {
		t.Parallel()
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
		t.Parallel()
		s := newStory(t)
		// A loaded machine must be able to roll out b in that time.
		s.rolledOut(s.coordination("shop", timeout(25, v1.TimeoutSkip)), "a", "b")
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
	t.Run("Skip goes on with the next, until its owner takes it out", func(t *testing.T) {
		t.Parallel()
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
		assert.Equal(t, v1.SkipReason, s.get("a").Annotations[v1.PauseReasonAnnotation])
		s.update("a", unpause)
		assert.True(t, s.get("a").Spec.Paused, "anybody may write this, and again and again")
		s.takeOut("a")
		s.awaitActive("a")
		s.fence()
		assert.False(t, s.get("a").Spec.Paused)
		assert.Empty(t, s.status("shop").DeploymentStates[0].Skipped)
		assert.Zero(t, s.events()[v1.ReasonPauseReverted], "it has the turn, and nobody is in its way")
		s.update("a", image("3", "0s"))
		s.awaitReady("shop")
	})
	t.Run("no time passes while its owner has it paused", func(t *testing.T) {
		t.Parallel()
		s := newStory(t)
		s.rolledOut(s.coordination("shop", timeout(60, v1.TimeoutSkip)), "a")
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
	t.Parallel()
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

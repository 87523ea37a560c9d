package deploymentcoordination

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"

	v1 "example.com/podsequence/apis/apps/v1"
)

// untouchable gives the Deployment so many annotations that the policy that confines our controller refuses all its writes to it.
func untouchable(d *appsv1.Deployment) {
	if d.Annotations == nil {
		d.Annotations = map[string]string{}
	}
	for i := range 1001 {
		d.Annotations[fmt.Sprint("note-", i)] = ""
	}
}

func touchable(d *appsv1.Deployment) {
	for i := range 1001 {
		delete(d.Annotations, fmt.Sprint("note-", i))
	}
}

func TestADeploymentThatCannotBeUnpaused(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.rolledOut(s.coordination("shop"), "a", "b")
	s.update("a", untouchable)
	s.update("a", image("2", "0s")) // paused by the API server itself
	s.awaitActive("a")
	s.update("b", image("2", "0s"))
	s.awaitCondition("shop", v1.ConditionDegraded, "True "+v1.ReasonUnpauseFailed)
	s.awaitEvent(v1.ReasonUnpauseFailed)
	s.fence()
	assert.True(t, s.get("b").Spec.Paused)
	s.update("a", touchable)
	s.awaitReady("shop")
	s.awaitCondition("shop", v1.ConditionDegraded, "False "+v1.ReasonAsExpected)
}

func TestADeploymentThatCannotBePaused(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	z := s.deployment("z")
	z.Labels = nil
	untouchable(z)
	s.Create(z)
	s.awaitComplete("z")
	s.rolledOut(s.coordination("shop"), "a", "b")
	s.update("a", image("2", "never"))
	s.awaitActive("a")
	s.awaitUnpaused("a")
	s.update("b", image("2", "0s"))
	s.halfway("z")
	s.overlaps = true
	s.update("z", func(d *appsv1.Deployment) { d.Labels = map[string]string{"app": "shop"} })
	s.awaitCondition("shop", v1.ConditionDegraded, "True "+v1.ReasonPauseFailed)
	s.awaitEvent(v1.ReasonPauseFailed)

	t.Log("it rolls out, so it has the next turn")
	s.update("a", image("3", "0s"))
	s.awaitActive("z")
	s.fence()
	assert.True(t, s.get("b").Spec.Paused)
	s.update("z", image("3", "0s"))
	s.awaitReady("shop")
	s.awaitCondition("shop", v1.ConditionDegraded, "False "+v1.ReasonAsExpected)
}

package deploymentcoordination

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/podsequence/apis/apps/v1"
)

func TestADeploymentThatItsOwnerPausedIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.rolledOut(s.coordination("shop"), "a", "b")
	s.update("a", func(d *appsv1.Deployment) { d.Spec.Paused = true })
	s.update("a", image("2", "0s"))
	s.update("b", image("2", "0s"))
	s.awaitCondition("shop", v1.ConditionDegraded, "True "+v1.ReasonPausedByOwner)
	s.awaitUnpaused("b")
	s.awaitComplete("b")
	s.fence()
	assert.True(t, s.get("a").Spec.Paused)
	assert.Empty(t, s.get("a").Annotations[v1.PausedByAnnotation])
	s.update("a", unpause)
	s.awaitReady("shop")
	s.awaitCondition("shop", v1.ConditionDegraded, "False "+v1.ReasonAsExpected)
}

func TestAPauseThatItsOwnerTakesOverIsKept(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.rolledOut(s.coordination("shop"), "a", "b")
	s.update("a", image("2", "never"))
	s.awaitActive("a")
	s.update("b", image("2", "0s"))
	s.Await("the pause to be on record", func() bool { return s.status("shop").DeploymentStates[1].Paused })
	s.kubectl("annotate", "deployment", "b", "--namespace", s.Namespace, v1.PausedByAnnotation+"-")
	s.update("a", image("3", "0s"))
	s.awaitComplete("a")
	s.Await("nobody to have the turn", func() bool { return s.status("shop").ActiveDeployment == "" })
	s.awaitCondition("shop", v1.ConditionDegraded, "True "+v1.ReasonPausedByOwner)
	s.fence()
	assert.True(t, s.get("b").Spec.Paused)
	s.update("b", unpause)
	s.awaitReady("shop")
}

// The commands are those of the documentation.
func TestItsOwnerTakesOneThatWaitsOutOfTheOrder(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.rolledOut(s.coordination("shop"), "a", "b", "c")
	s.update("a", image("2", "never"))
	s.awaitActive("a")
	s.update("b", image("2", "never"))
	s.update("c", image("2", "0s"))
	s.Await("the pauses to be on record", func() bool {
		states := s.status("shop").DeploymentStates
		return states[1].Paused && states[2].Paused
	})
	s.kubectl("rollout", "resume", "deployment/b", "--namespace", s.Namespace)
	assert.True(t, s.get("b").Spec.Paused, "anybody may write this, and again and again")
	s.overlaps = true
	s.takeOut("b")
	s.awaitCondition("shop", v1.ConditionDegraded, "True "+v1.ReasonPauseReverted)
	s.awaitEvent(v1.ReasonPauseReverted)
	s.fence()
	b := s.get("b")
	assert.False(t, b.Spec.Paused, "no fight")
	assert.NotContains(t, b.Annotations, v1.PauseReasonAnnotation)
	assert.True(t, s.get("c").Spec.Paused)
	assert.Equal(t, 1, s.events()[v1.ReasonPauseReverted])

	t.Log("what rolls already has the next turn, and then the others")
	s.update("a", image("3", "0s"))
	s.awaitActive("b")
	s.update("b", image("3", "0s"))
	s.awaitReady("shop")
	s.awaitCondition("shop", v1.ConditionDegraded, "False "+v1.ReasonAsExpected)
	s.awaitComplete("a", "b", "c")
}

// takeOut starts a Deployment that waits, out of its turn.
func (s *story) takeOut(name string) {
	s.Helper()
	s.kubectl("annotate", "deployment", name, "--namespace", s.Namespace, v1.PausedByAnnotation+"-")
	s.kubectl("rollout", "resume", "deployment/"+name, "--namespace", s.Namespace)
}

// In one request its owner removes the annotation that says who paused, and not the other.
func TestItsOwnerTakesOneOutInOneRequest(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.rolledOut(s.coordination("shop"), "a", "b")
	s.update("a", image("2", "never"))
	s.awaitActive("a")
	s.update("b", image("2", "0s"))
	s.overlaps = true
	s.Patch(s.get("b"), `{"spec":{"paused":null},"metadata":{"annotations":{"`+v1.PausedByAnnotation+`":null}}}`)
	assert.False(t, s.get("b").Spec.Paused)
	s.awaitComplete("b")
	s.update("a", image("3", "0s"))
	s.awaitReady("shop")
}

func TestWhatACoordinationPausedIsUnpausedWithIt(t *testing.T) {
	gone := func(s *story, c *v1.DeploymentCoordination) {
		s.Await("the coordination to be gone", func() bool {
			return apierrors.IsNotFound(s.API.Get(s.Ctx, client.ObjectKeyFromObject(c), &v1.DeploymentCoordination{}))
		})
	}
	for name, end := range map[string]func(s *story, c *v1.DeploymentCoordination){
		"the coordination is deleted": func(s *story, c *v1.DeploymentCoordination) {
			began := time.Now()
			s.Delete(c)
			gone(s, c)
			s.awaitUnpaused("b")
			assert.GreaterOrEqual(s, time.Since(began), 9*time.Second, "so long another coordination may yet come")
		},
		"the coordination is deleted while the controller is down": func(s *story, c *v1.DeploymentCoordination) {
			s.WhileControllerDown(func() { s.Delete(c) })
			gone(s, c)
		},
		"the coordination is deleted without its finalizer": func(s *story, c *v1.DeploymentCoordination) {
			s.WhileControllerDown(func() {
				s.Patch(c, `{"metadata":{"finalizers":null}}`)
				s.Delete(c)
			})
		},
		"the Deployment stops matching": func(s *story, _ *v1.DeploymentCoordination) {
			s.update("b", func(d *appsv1.Deployment) { d.Labels = nil })
		},
		"the Deployment stops matching while the controller is down": func(s *story, _ *v1.DeploymentCoordination) {
			s.WhileControllerDown(func() { s.update("b", func(d *appsv1.Deployment) { d.Labels = nil }) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			c := s.coordination("shop")
			s.rolledOut(c, "a", "b", "owned")
			s.update("owned", func(d *appsv1.Deployment) { d.Spec.Paused = true })
			s.update("a", image("2", "never"))
			s.awaitActive("a")
			s.update("b", image("2", "0s"))
			s.awaitPaused("b")
			s.overlaps = true // b goes as soon as nothing holds it
			end(s, c)
			s.awaitUnpaused("b")
			s.awaitComplete("b")
			assert.True(t, s.get("owned").Spec.Paused, "only pauses of ours are undone")
		})
	}
}

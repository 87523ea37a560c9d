package integration

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
)

// setSkip says of a group whether others wait for it.
func (s *story) setSkip(sequence string, group int, skip bool) {
	s.Helper()
	cluster.Change(s.Story, s.getSequence(sequence), func(ps *v1alpha1.PodSequence) { ps.Spec.PodGroups[group].Skip = skip })
	s.unseen = true
}

func TestNobodyWaitsForAGroupWithSkip(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for _, mode := range []v1alpha1.EnforcementMode{v1alpha1.BootstrapOnly, v1alpha1.Continuous} {
		t.Run(string(mode), func(t *testing.T) {
			s := newStory(t)
			s.Create(s.sequence("shop").Mode(mode).Pods("Database", "db").Pods("Cache", "cache").Pods("Application", "app").Pods("Frontend", "web").Obj())
			s.createPods(s.pod("db"), s.pod("cache"), s.pod("app"))
			s.awaitBound("db")
			s.expectHeld("cache", "app")
			s.setSkip("shop", 1, true)
			s.awaitEvent("shop", v1alpha1.EventGroupSkipped)
			s.awaitCondition("shop", v1alpha1.ConditionSkipped, metav1.ConditionTrue, v1alpha1.ReasonGroupsSkipped)
			s.expectHeld("cache", "app") // the group waits for its turn, and the next for the one before it
			s.makeReady("db")
			s.awaitBound("cache", "app")
			s.Await("the group to be told as skipped", func() bool {
				groups := s.getSequence("shop").Status.Groups
				return len(groups) == 4 && groups[1].Phase == v1alpha1.GroupSkipped
			})

			s.setSkip("shop", 1, false)
			s.awaitEvent("shop", v1alpha1.EventGroupNotSkipped)
			s.makeReady("app")
			s.createPods(s.pod("web"))
			s.expectHeld("web") // which has not been released
			s.makeReady("cache")
			s.awaitBound("web")
		})
	}
}

func TestSkipOnEachNode(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newNodeStory(t, "a")
	s.Create(s.driverThenApp().Obj(), s.driver())
	s.on("driver", "a")
	s.createPods(s.pinned("app", "app", "a"))
	s.expectHeld("app")
	s.setSkip("storage", 0, true)
	s.awaitBound("app")
	s.awaitEvent("storage", v1alpha1.EventGroupSkipped) // two changes that the controller sees as one are none
	s.setSkip("storage", 0, false)
	s.awaitEvent("storage", v1alpha1.EventGroupNotSkipped)
	s.createPods(s.pinned("late", "app", "a"))
	s.expectHeld("late")
	s.startOn("driver", "a")
	s.awaitBound("late")
}

// Groups that depend on a group with skip still wait for what that group itself waits for.
func TestSkipInAGraph(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	sequence := s.diamond()
	sequence.Spec.PodGroups[1].Skip = true
	s.Create(sequence.Obj())
	for _, corner := range corners {
		s.createPods(s.pod(corner))
	}
	s.awaitBound("db")
	s.expectHeld("left", "right", "top")
	s.makeReady("db")
	s.awaitBound("left", "right")
	s.expectHeld("top")
	s.makeReady("right")
	s.awaitBound("top")
}

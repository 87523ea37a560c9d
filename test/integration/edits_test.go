package integration

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
)

func TestAPodOfTwoSequencesNeedsTheLeaveOfBoth(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(
		s.sequence("one").Pods("First", "a").Pods("Second", "both", "stock").Obj(),
		s.sequence("two").Pods("First", "b").Pods("Second", "both", "stock").Obj(),
	)
	s.createPods(s.pod("a"), s.pod("b"), s.gated("both"), s.gated("stock").SchedulerName(stockScheduler))
	s.awaitBound("a", "b")
	s.makeReady("a")
	s.expectHeld("both", "stock")
	s.makeReady("b")
	s.awaitBound("both", "stock")
}

// regroup changes the groups of a sequence. Pods that are created next are created after that is seen.
func (s *story) regroup(name string, groups ...v1alpha1.PodGroup) {
	s.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"podGroups": groups}})
	require.NoError(s, err)
	s.Patch(s.getSequence(name), string(patch))
}

func named(title string, pods ...string) v1alpha1.PodGroup {
	return v1alpha1.PodGroup{Name: title, Pods: pods}
}

func TestEdits(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	t.Run("appending a group holds its pods and keeps what was passed", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.sequence("shop").Pods("One", "one").Pods("Two", "two").Obj())
		s.createPods(s.pod("one"), s.pod("two"))
		s.awaitBound("one")
		s.makeReady("one")
		s.awaitBound("two")
		s.annotate("one", cluster.ReadyAfter, "never") // what was passed does not become undone
		s.Await("one to be unready", func() bool { return !cluster.IsReady(s.getPod("one")) })
		s.regroup("shop", named("One", "one"), named("Two", "two"), named("Three", "three"))
		s.createPods(s.pod("three"))
		s.expectHeld("three")
		s.makeReady("two")
		s.awaitBound("three")
	})
	t.Run("removing the group that pods wait for lets them go", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.threeTiers().Obj())
		s.createPods(s.pod("db"), s.pod("app"), s.gated("web").SchedulerName(stockScheduler))
		s.awaitBound("db")
		s.expectHeld("app", "web")
		s.regroup("shop", named("Application", "app"), named("Frontend", "web"))
		s.awaitBound("app")
		s.expectHeld("web")
	})
	t.Run("reordering groups holds what comes later now", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.threeTiers().Obj())
		s.createPods(s.pod("app"), s.pod("web"))
		s.expectHeld("app", "web")
		s.regroup("shop", named("Frontend", "web"), named("Application", "app"), named("Database", "db"))
		s.awaitBound("web")
		s.expectHeld("app")
		s.makeReady("web")
		s.awaitBound("app")
	})
	t.Run("deleting a sequence lets gate-less pods go, and gated pods keep their gate", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.threeTiers().Obj())
		s.createPods(s.pod("app"), s.gated("web"))
		s.expectHeld("app", "web")
		s.Delete(s.getSequence("shop"))
		s.awaitBound("app")
		s.expectHeld("web")
		assert.Equal(t, []string{v1alpha1.DefaultSchedulingGateName}, gates(s.getPod("web")))
	})
	t.Run("a sequence made again under the same name is another one", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.sequence("shop").Pods("One", "one").Pods("Two", "two").Obj())
		s.createPods(s.pod("one"))
		s.awaitBound("one")
		s.makeReady("one")
		s.Await("the first group's pass to be recorded", func() bool {
			groups := s.getSequence("shop").Status.Groups
			return len(groups) == 2 && groups[0].PassedAt != nil
		})
		s.annotate("one", cluster.ReadyAfter, "never")
		s.Await("one to be unready", func() bool { return !cluster.IsReady(s.getPod("one")) })
		s.Delete(s.getSequence("shop"))
		s.Create(s.sequence("shop").Pods("One", "one").Pods("Two", "two").Obj())
		s.createPods(s.pod("two"))
		s.expectHeld("two")
		s.makeReady("one")
		s.awaitBound("two")
	})
}

func TestReports(t *testing.T) {
	t.Parallel()
	t.Run("a pod that two groups name starts with the first and is reported", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.sequence("shop").Pods("One", "a").Pods("Two", "a", "b").Obj())
		s.createPods(s.pod("a"), s.pod("b"))
		s.awaitBound("a")
		s.awaitDegraded("shop", v1alpha1.ReasonAmbiguousMembership)
		s.expectHeld("b")
		s.makeReady("a")
		s.awaitBound("b")
	})
	t.Run("a pod that nothing can hold is reported, with the fix", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.threeTiers().Obj())
		s.createPods(s.pod("app").SchedulerName(stockScheduler))
		s.awaitDegraded("shop", v1alpha1.ReasonStartedOutOfOrder)
		degraded := meta.FindStatusCondition(s.getSequence("shop").Status.Conditions, v1alpha1.ConditionDegraded)
		ours := ourScheduler
		if s.env.scheduler != ours {
			ours = s.env.scheduler + " or " + ours
		}
		assert.Contains(t, degraded.Message, "add the label podsequence.example.com/sequence: shop to the pod templates")
		assert.Contains(t, degraded.Message, "app cannot be held: set schedulerName to "+ours)
	})
	t.Run("a pod that started because nothing can hold it is told by an event though there are other problems", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.sequence("shop").Pods("One", "a").Pods("Two", "a", "b").Obj())
		s.awaitDegraded("shop", v1alpha1.ReasonAmbiguousMembership)
		s.createPods(s.pod("b").SchedulerName(stockScheduler))
		s.awaitEvent("shop", v1alpha1.ReasonStartedOutOfOrder)
		degraded := meta.FindStatusCondition(s.getSequence("shop").Status.Conditions, v1alpha1.ConditionDegraded)
		assert.Contains(t, degraded.Message, `pod "a" is named in`, "the other problem is told as well")
	})
}

package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// Our program in place of kube-scheduler, with the identity and the lease of that one: no workload names a scheduler. All other
// stories run in this way with -as-default-scheduler.
func TestAsDefaultScheduler(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	env := startCluster(t, controlplane.Options{AsDefaultScheduler: true, LeaderElection: true})
	unnamed := func(s *story, name string) { s.createPods(s.pod(name).SchedulerName("")) }

	t.Run("pods that name no scheduler start in order", func(t *testing.T) {
		s := newStoryIn(t, env)
		s.Create(s.threeTiers().Obj())
		for _, tier := range []string{"web", "app", "db"} {
			unnamed(s, tier)
			assert.Equal(t, corev1.DefaultSchedulerName, s.getPod(tier).Spec.SchedulerName)
		}
		s.startInOrder()
	})
	t.Run("gated pods, and pods of our other profile, do so too", func(t *testing.T) {
		s := newStoryIn(t, env)
		s.Create(s.threeTiers().Obj())
		s.createPods(s.gated("web").SchedulerName(""), s.pod("app").SchedulerName(ourScheduler), s.gated("db"))
		s.startInOrder()
	})
	t.Run("on each node by itself", func(t *testing.T) {
		s := newNodeStoryIn(t, env, "a", "b")
		s.Create(s.driverThenApp().Obj(), s.driver(), s.daemonSet("app", "app"))
		s.on("driver", "a")
		s.on("driver", "b")
		s.startOn("driver", "a")
		s.awaitSpread("app", map[string]int{"a": 1, "": 1})
		s.expectSpread("app", map[string]int{"a": 1, "": 1})
		s.startOn("driver", "b")
		s.awaitSpread("app", map[string]int{"a": 1, "b": 1})
	})
	t.Run("enforced continuously", func(t *testing.T) {
		s := newStoryIn(t, env)
		s.Create(s.sequence("shop").Mode(v1alpha1.Continuous).Pods("Database", "db").Pods("Application", "app", "late").Obj())
		unnamed(s, "db")
		unnamed(s, "app")
		s.awaitBound("db")
		s.makeReady("db")
		s.awaitBound("app")
		s.Delete(s.getPod("db"))
		s.AwaitGone(s.Pod("db"))
		unnamed(s, "late")
		s.expectHeld("late")
	})
	t.Run("killed in the middle", func(t *testing.T) {
		s := newStoryIn(t, env)
		s.Create(s.threeTiers().Obj())
		for _, tier := range tiers {
			unnamed(s, tier)
		}
		s.awaitBound("db")
		s.WhileDown(controlplane.PodSequenceScheduler, func() { s.makeReady("db") })
		s.awaitBound("app")
		s.expectHeld("web")
		s.makeReady("app")
		s.awaitBound("web")
	})
	t.Run("the cluster does not lock itself out", func(t *testing.T) { theClusterDoesNotLockItselfOut(t, env) })
	t.Run("pods of PodSequence itself are never held", func(t *testing.T) { podsOfPodSequenceAreNeverHeld(t, env) })
	t.Run("pods without a sequence are scheduled as ever", func(t *testing.T) {
		s := newStoryIn(t, env)
		deployment := s.deployment("any", 3)
		deployment.Spec.Template.Spec.SchedulerName = ""
		s.Create(deployment)
		s.Await("three pods to be bound", func() bool { return len(s.boundPods("any")) == 3 })
	})
}

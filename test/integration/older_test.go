package integration

import (
	"testing"

	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// An API server that does not serve everything that our scheduler code knows: without emulation an informer of a kind that is
// not served never syncs, and no pod is ever scheduled. `make compat` tells more stories, on older releases themselves.
func TestTheSchedulerEmulatesAnOlderAPIServer(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	older := []string{"--emulated-version=1.34"}
	env := startCluster(t, controlplane.Options{ExtraArgs: map[string][]string{
		controlplane.APIServer: older, controlplane.ControllerManager: older, controlplane.Scheduler: older,
	}})
	t.Run("tiers start in order", func(t *testing.T) {
		s := newStoryIn(t, env)
		s.Create(s.threeTiers().Obj())
		s.createPods(s.pod("web"), s.gated("app").SchedulerName(stockScheduler), s.pod("db"))
		s.startInOrder()
	})
	t.Run("pods wait for the driver of their node", func(t *testing.T) {
		s := newNodeStoryIn(t, env, "a", "b")
		s.Create(s.driverThenApp().Obj())
		s.awaitSeen()
		s.Create(s.driver(), s.daemonSet("app", "app"))
		s.on("driver", "a")
		s.on("driver", "b")
		s.startOn("driver", "a")
		s.awaitSpread("app", map[string]int{"a": 1, "": 1})
		s.expectSpread("app", map[string]int{"a": 1, "": 1})
	})
}

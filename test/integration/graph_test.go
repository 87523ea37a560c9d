package integration

import (
	"testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/slow"
)

// vertex is a group of the one pod of its name that depends on others.
func vertex(name string, dependsOn ...string) v1alpha1.PodGroup {
	return v1alpha1.PodGroup{Name: name, Pods: []string{name}, DependsOn: append([]string{}, dependsOn...)}
}

// diamond is a graph of four groups.
func (s *story) diamond() *SequenceWrapper {
	return s.sequence("shop").Group(vertex("db")).Group(vertex("left", "db")).Group(vertex("right", "db")).Group(vertex("top", "left", "right"))
}

var corners = []string{"top", "right", "left", "db"}

func TestAGraphStartsInOrder(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for name, makePod := range map[string]func(*story, string){
		"held by the scheduler": func(s *story, name string) { s.createPods(s.pod(name)) },
		"held by a gate":        func(s *story, name string) { s.createPods(s.gated(name).SchedulerName(stockScheduler)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.Create(s.diamond().Obj())
			for _, corner := range corners {
				makePod(s, corner)
			}
			s.awaitBound("db")
			s.awaitHeldFor("right", `group 1/4 "db"`)
			s.expectHeld("left", "right", "top")
			s.makeReady("db")
			s.awaitBound("left", "right")
			s.expectHeld("top")
			s.makeReady("right") // and the other side, which is listed before, not yet
			s.Await("status to tell of each group", func() bool {
				status := s.getSequence("shop").Status
				return len(status.Groups) == 4 && status.CurrentIndex != nil && *status.CurrentIndex == 1 &&
					status.Groups[1].Phase == v1alpha1.GroupInProgress && status.Groups[2].Phase == v1alpha1.GroupPassed &&
					status.Groups[3].Phase == v1alpha1.GroupWaiting
			})
			s.awaitHeldFor("top", `group 2/4 "left"`)
			s.expectHeld("top")
			s.makeReady("left")
			s.awaitBound("top")
			s.makeReady("top")
			s.awaitPhase("shop", v1alpha1.PhaseCompleted)
		})
	}
}

func TestAGroupThatDependsOnNone(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Group(vertex("db")).Group(vertex("free")).Pods("last", "last").Obj())
	s.createPods(s.pod("last"), s.pod("free"), s.pod("db"))
	s.awaitBound("free", "db")
	s.makeReady("db")
	s.expectHeld("last") // for the group without dependsOn waits for all before it
	s.makeReady("free")
	s.awaitBound("last")
}

func TestAGraphThatIsEnforcedContinuously(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Mode(v1alpha1.Continuous).Group(vertex("db")).Group(vertex("left", "db")).Group(vertex("right", "db")).
		Group(v1alpha1.PodGroup{Name: "top", Pods: []string{"top", "late"}, DependsOn: []string{"left"}}).Obj())
	for _, corner := range corners {
		s.createPods(s.pod(corner))
	}
	s.awaitBound("db")
	s.makeReady("db")
	s.awaitBound("left", "right")
	s.makeReady("left")
	s.awaitBound("top") // the other side is not ready
	s.Delete(s.Pod("db"))
	s.AwaitGone(s.Pod("db"))
	s.createPods(s.pod("late"))
	s.expectHeld("late") // for what is behind the group that its own depends on
	s.createPods(s.pod("db"))
	s.awaitBound("db")
	s.makeReady("db")
	s.awaitBound("late")
}

func TestAGraphOnEachNode(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newNodeStory(t, "a")
	group := func(tier string, dependsOn ...string) v1alpha1.PodGroup {
		return v1alpha1.PodGroup{Name: tier, PodSelector: byLabel("tier", tier), DependsOn: append([]string{}, dependsOn...)}
	}
	s.Create(s.perNode("storage").Group(group("csi")).Group(group("cni")).Group(group("disk", "csi")).Group(group("web", "cni")).Obj(),
		s.daemonSet("csi", "csi"), s.daemonSet("cni", "cni"))
	s.on("csi", "a")
	s.on("cni", "a")
	s.createPods(s.pinned("disk", "disk", "a"), s.pinned("web", "web", "a"))
	s.expectHeld("disk", "web")
	s.startOn("cni", "a")
	s.awaitBound("web")
	s.expectHeld("disk")
	s.startOn("csi", "a")
	s.awaitBound("disk")
}

// An edit of a graph voids what it changes, and what depends on that.
func TestAnEditOfAGraph(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.diamond().Obj())
	s.createPods(s.pod("db"), s.pod("left"))
	s.awaitBound("db")
	s.makeReady("db")
	s.awaitBound("left")
	s.makeReady("left")
	s.Await("both passes to be recorded", func() bool {
		groups := s.getSequence("shop").Status.Groups
		return len(groups) == 4 && groups[0].PassedAt != nil && groups[1].PassedAt != nil
	})
	s.Delete(s.Pod("db"), s.Pod("left"))
	s.AwaitGone(s.Pod("db"))
	s.AwaitGone(s.Pod("left"))
	s.regroup("shop", vertex("new"), vertex("db"), vertex("left", "db"), vertex("right", "db"), vertex("top", "left", "right", "new"))
	s.createPods(s.pod("right"))
	s.awaitBound("right") // what is ahead of it was passed, and nothing of that has changed
	s.createPods(s.pod("top"), s.pod("new"))
	s.awaitBound("new")
	s.makeReady("right")
	s.expectHeld("top")
	s.makeReady("new")
	s.awaitBound("top")
}

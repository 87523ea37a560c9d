package integration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/slow"
)

// setDryRun reports whether a sequence holds nothing.
func (s *story) setDryRun(sequence string, dryRun bool) {
	s.Helper()
	// A patch, because the status of a dry run is written every second.
	s.Patch(s.getSequence(sequence), map[string]any{"spec": map[string]bool{"dryRun": dryRun}})
}

func TestADryRunHoldsNothingAndSaysWhatItWouldHold(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	sequence := s.sequence("shop").Pods("Database", "db").Pods("Application", "app", "gated", "stock", "late", "late-gated").Obj()
	sequence.Spec.DryRun = true
	s.Create(sequence)
	s.createPods(s.pod("app"), s.gated("gated"), s.gated("stock").SchedulerName(stockScheduler))
	s.awaitBound("app", "gated", "stock")
	s.awaitCondition("shop", v1alpha1.ConditionDryRun, metav1.ConditionTrue, v1alpha1.ReasonDryRun)
	s.Await("status to tell what would be held", func() bool {
		dryRun := s.getSequence("shop").Status.DryRun
		return dryRun != nil && dryRun.HeldNow == 3 && dryRun.HeldTotal == 3 &&
			assert.ObjectsAreEqual([]string{"app", "gated", "stock"}, dryRun.Pods)
	})

	// What went then proves nothing: the first group was never ready.
	s.setDryRun("shop", false)
	s.Await("the dry run to be over", func() bool {
		ps := s.getSequence("shop")
		return ps.Status.ObservedGeneration == ps.Generation && ps.Status.DryRun == nil
	})
	s.createPods(s.pod("late"), s.gated("late-gated").SchedulerName(stockScheduler))
	s.expectHeld("late", "late-gated")
	s.createPods(s.pod("db"))
	s.awaitBound("db")
	s.makeReady("db")
	s.awaitBound("late", "late-gated")
}

func TestASequenceThatTurnsToADryRunReleasesWhatItHolds(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.threeTiers().Obj())
	s.createPods(s.pod("web"), s.gated("app").SchedulerName(stockScheduler))
	s.expectHeld("web", "app")
	// Status counts whole seconds, and time alone changes nothing of a dry run.
	held := time.Now()
	s.Await("more than a second to pass", func() bool { return time.Since(held) > 1100*time.Millisecond })
	s.setDryRun("shop", true)
	s.awaitBound("web", "app")
	s.Await("status to say for how long they would have been held", func() bool {
		dryRun := s.getSequence("shop").Status.DryRun
		return dryRun != nil && dryRun.LongestSeconds >= 1
	})
}

func TestADryRunOnEachNode(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newNodeStory(t, "a")
	sequence := s.driverThenApp().Obj()
	sequence.Spec.DryRun = true
	s.Create(sequence, s.driver())
	s.on("driver", "a")
	s.createPods(s.pinned("app", "app", "a"), s.here("free", "app"))
	s.awaitBound("app", "free")
	s.setDryRun("storage", false)
	s.Await("the dry run to be over", func() bool { return s.getSequence("storage").Status.DryRun == nil })
	s.createPods(s.pinned("late", "app", "a"))
	s.expectHeld("late")
	s.startOn("driver", "a")
	s.awaitBound("late")
}

// A pod that another sequence holds is held, whoever runs dry.
func TestADryRunHasNoSayOverOtherSequences(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	dry := s.sequence("dry").Pods("Database", "db").Pods("Application", "app").Obj()
	dry.Spec.DryRun = true
	s.Create(dry, s.threeTiers().Obj())
	s.createPods(s.pod("app"), s.gated("web"))
	s.expectHeld("app", "web")
	s.createPods(s.pod("db"))
	s.awaitBound("db")
	s.makeReady("db")
	s.awaitBound("app")
	s.makeReady("app")
	s.awaitBound("web")
}

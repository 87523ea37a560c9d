package integration

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// setSuspended sets spec.suspend.
func (s *story) setSuspended(name string, suspended bool) {
	s.Helper()
	patch := `{"spec":{"suspend":false}}`
	if suspended {
		patch = `{"spec":{"suspend":true}}`
	}
	s.Patch(s.getSequence(name), patch)
	if suspended {
		s.awaitCondition(name, v1alpha1.ConditionSuspended, metav1.ConditionTrue, v1alpha1.ReasonSuspended)
	} else {
		s.awaitCondition(name, v1alpha1.ConditionSuspended, metav1.ConditionFalse, v1alpha1.ReasonNotSuspended)
	}
}

func TestSuspendReleasesNothingMore(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Group(tier("db")).Pods("Application", "app").Obj())
	s.createPods(s.pod("db-0").Label("tier", "db"), s.pod("app"))
	s.awaitBound("db-0")
	s.setSuspended("shop", true)
	s.createPods(s.pod("db-1").Label("tier", "db")) // what was released stays released
	s.awaitBound("db-1")
	s.makeReady("db-0", "db-1")
	s.awaitGroup("shop", 0, 2, 2)
	s.expectHeld("app")
	s.awaitHeldFor("app", "suspended")
	s.awaitCondition("shop", v1alpha1.ConditionProgressing, metav1.ConditionFalse, v1alpha1.ReasonSuspended)
	s.setSuspended("shop", false)
	s.awaitBound("app")
}

func TestASequenceCreatedSuspendedReleasesNothing(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	sequence := s.threeTiers().Obj()
	sequence.Spec.Suspend = true
	s.Create(sequence)
	s.createPods(s.pod("db"), s.pod("app"), s.pod("web"))
	s.expectHeld("db", "app", "web")
	s.setSuspended("shop", false)
	s.startInOrder()
}

func TestSuspendWinsOverDryRun(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	sequence := s.threeTiers().Obj()
	sequence.Spec.Suspend, sequence.Spec.DryRun = true, true
	s.Create(sequence)
	s.createPods(s.pod("db"), s.gated("app").SchedulerName(stockScheduler), s.pod("web"))
	s.expectHeld("db", "app", "web")
	s.Await("status to say what is held", func() bool {
		held := s.getSequence("shop").Status.DryRun
		return held != nil && slices.Equal([]string{"app", "db", "web"}, held.Pods)
	})
	s.awaitCondition("shop", v1alpha1.ConditionDryRun, metav1.ConditionTrue, v1alpha1.ReasonSuspended)
	s.setSuspended("shop", false)
	s.awaitBound("db", "app", "web")
	s.awaitCondition("shop", v1alpha1.ConditionDryRun, metav1.ConditionTrue, v1alpha1.ReasonDryRun)
}

// A pod that is not pinned to a node is tried while no node is open, and loses its gate for that.
func TestAGateThatIsLiftedReleasesNothingOnNodesOfASuspendedSequence(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newNodeStory(t, "a")
	sequence := s.driverThenApp().Obj()
	sequence.Spec.Suspend = true
	s.Create(sequence)
	s.createPods(s.here("driver", "driver"), s.here("app", "app").SchedulingGates([]string{v1alpha1.DefaultSchedulingGateName}))
	s.Await("the gate to be lifted", func() bool { return len(gates(s.getPod("app"))) == 0 })
	s.expectUnplaced("driver", "app")
}

func TestSuspendAndAppendDoNotVoidProgress(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStoryIn(t, exclusively(t))
	s.Create(s.sequence("shop").Pods("Database", "db").Group(tier("app")).Obj())
	s.createPods(s.pod("db"), s.pod("app-0").Label("tier", "app"))
	s.awaitBound("db")
	s.makeReady("db")
	s.awaitBound("app-0")
	s.Await("the pass to be recorded", func() bool {
		groups := s.getSequence("shop").Status.Groups
		return len(groups) == 2 && groups[0].PassedAt != nil
	})
	s.setSuspended("shop", true)
	s.annotate("db", cluster.ReadyAfter, "never") // only what was passed speaks for the second group now
	s.Await("db to be unready", func() bool { return !cluster.IsReady(s.getPod("db")) })
	s.regroup("shop", v1alpha1.PodGroup{Name: "Database", Pods: []string{"db"}}, tier("app"), named("Frontend", "web"))
	s.createPods(s.pod("app-1").Label("tier", "app"), s.pod("web"))
	s.awaitBound("app-1")
	s.expectHeld("web")

	require.NoError(t, s.Cluster.Kill(s.Ctx, controlplane.PodSequenceScheduler))
	require.NoError(t, s.Cluster.StartComponent(s.Ctx, controlplane.PodSequenceScheduler))
	s.createPods(s.pod("app-2").Label("tier", "app"))
	s.awaitBound("app-2") // it had been released when the suspension began
	s.makeReady("app-0", "app-1", "app-2")
	s.expectHeld("web")
	s.setSuspended("shop", false)
	s.awaitBound("web")
}

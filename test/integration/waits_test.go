package integration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// waiting is a group of named pods that must be ready so long before the next may start.
func waiting(wait v1alpha1.Duration, pods ...string) v1alpha1.PodGroup {
	return v1alpha1.PodGroup{Name: "Database", Pods: pods, WaitDuration: wait}
}

// overAt is when a wait or time-out is over that counts from a time of the API.
func overAt(since time.Time, duration time.Duration) time.Time {
	return since.Truncate(time.Second).Add(time.Second + duration)
}

func TestTheNextGroupWaitsUntilTheWaitIsOver(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Group(waiting("20s", "db")).Pods("Application", "app").Obj())
	s.createPods(s.pod("db"), s.pod("app"))
	s.awaitBound("db")
	s.makeReady("db")
	s.awaitCondition("shop", v1alpha1.ConditionProgressing, metav1.ConditionTrue, v1alpha1.ReasonWaitDuration)
	s.awaitBound("app")
	assert.False(t, s.placedAt("app").Before(overAt(s.readyAt("db"), 20*time.Second)), "the wait was cut short")
}

func TestABreakBeginsTheWaitAgain(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Group(waiting("20s", "db")).Pods("Application", "app").Obj())
	s.createPods(s.pod("db"), s.pod("app"))
	s.awaitBound("db")
	s.makeReady("db")
	first := s.readyAt("db")
	s.annotate("db", cluster.ReadyAfter, "never")
	s.Await("db to be unready", func() bool { return !cluster.IsReady(s.getPod("db")) })
	s.Await("the break to show", func() bool { return time.Since(first) > 2*time.Second })
	s.makeReady("db")
	second := s.readyAt("db")
	require.True(t, second.After(first))
	s.awaitBound("app")
	assert.False(t, s.placedAt("app").Before(overAt(second, 20*time.Second)), "the wait was not begun again")
}

func TestARestartNeitherShortensNorRestartsAWait(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStoryIn(t, exclusively(t))
	const wait = 30 * time.Second
	s.Create(s.sequence("shop").Group(waiting("30s", "db")).Pods("Application", "app").Obj())
	s.createPods(s.pod("db"), s.pod("app"))
	s.awaitBound("db")
	s.makeReady("db")
	s.Await("a part of the wait to be over", func() bool { return time.Since(s.readyAt("db")) > wait/2 })
	s.expectHeld("app")
	s.Restart(controlplane.PodSequenceScheduler)
	restarted := time.Now()
	s.awaitBound("app")
	assert.False(t, s.placedAt("app").Before(overAt(s.readyAt("db"), wait)), "the wait was cut short")
	assert.True(t, s.placedAt("app").Before(restarted.Add(wait)), "the wait began again")
}

func TestAReadyTimeInTheFutureCountsAsNow(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Group(waiting("1s", "db")).Pods("Application", "app").Obj())
	s.createPods(s.pod("db").Annotation(cluster.ReadyAfter, "1h"), s.pod("app"))
	s.Await("db to run", func() bool { return s.getPod("db").Status.Phase == corev1.PodRunning })
	cluster.ChangeStatus(s.Story, s.getPod("db"), func(db *corev1.Pod) {
		for i := range db.Status.Conditions {
			if c := &db.Status.Conditions[i]; c.Type == corev1.PodReady {
				c.Status, c.LastTransitionTime = corev1.ConditionTrue, metav1.NewTime(time.Now().Add(time.Hour))
			}
		}
	})
	s.awaitBound("app")
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	inTime := func(policy v1alpha1.TimeoutPolicy) v1alpha1.PodGroup {
		return v1alpha1.PodGroup{Name: "Database", Pods: []string{"db"}, Timeout: "2s", OnTimeout: policy}
	}
	for name, policy := range map[string]v1alpha1.TimeoutPolicy{"Fail": v1alpha1.TimeoutFail, "Fail, by default": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.Create(s.sequence("shop").Group(inTime(policy)).Pods("Application", "app").Obj())
			s.createPods(s.pod("db"), s.pod("app"))
			s.awaitFailed("shop", v1alpha1.ReasonPodsReadyTimeout)
			s.awaitEvent("shop", v1alpha1.ReasonPodsReadyTimeout)
			s.expectHeld("app")
			s.makeReady("db") // late, and welcome
			s.awaitBound("app")
			s.makeReady("app")
			s.awaitPhase("shop", v1alpha1.PhaseCompleted)
			s.awaitCondition("shop", v1alpha1.ConditionDegraded, metav1.ConditionFalse, v1alpha1.ReasonAsExpected)
		})
	}
	for _, mode := range []v1alpha1.EnforcementMode{v1alpha1.BootstrapOnly, v1alpha1.Continuous} {
		t.Run("Continue, "+string(mode), func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			sequence := s.sequence("shop").Group(inTime(v1alpha1.TimeoutContinue)).Pods("Application", "app").Obj()
			sequence.Spec.EnforcementMode = mode
			s.Create(sequence)
			s.createPods(s.pod("db"), s.pod("app"))
			s.awaitBound("app")
			released := sequence.CreationTimestamp.Time
			assert.False(t, s.placedAt("app").Before(overAt(released, 2*time.Second)), "it went on too early")
			s.awaitCondition("shop", v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonPodsReadyTimeout)
			s.awaitEvent("shop", v1alpha1.ReasonPodsReadyTimeout)
			s.awaitCondition("shop", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonGroupNotReady)
			s.makeReady("db", "app")
			s.awaitCondition("shop", v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
			s.awaitCondition("shop", v1alpha1.ConditionDegraded, metav1.ConditionFalse, v1alpha1.ReasonAsExpected)
		})
	}
	t.Run("a group that is ready in time and breaks later has its time anew", func(t *testing.T) {
		t.Parallel()
		s := newStory(t)
		group := inTime(v1alpha1.TimeoutFail)
		group.Timeout = "30s"
		sequence := s.sequence("shop").Group(group).Pods("Application", "app").Obj()
		sequence.Spec.EnforcementMode = v1alpha1.Continuous
		s.Create(sequence)
		s.createPods(s.pod("db"), s.pod("app"))
		s.awaitBound("db")
		s.makeReady("db")
		s.awaitBound("app")
		broken := time.Now()
		s.annotate("db", cluster.ReadyAfter, "never")
		s.awaitPhase("shop", v1alpha1.PhaseFailed)
		assert.GreaterOrEqual(t, time.Since(broken), 30*time.Second)
		assert.Equal(t, v1alpha1.ReasonPodsReadyTimeout, meta.FindStatusCondition(s.getSequence("shop").Status.Conditions, v1alpha1.ConditionReady).Reason)
	})
}

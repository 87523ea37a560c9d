package deploymentcoordination

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/test/harness/cluster"
)

func TestThreeDeploymentsRollOutInOrderOfTheirNames(t *testing.T) {
	t.Parallel()
	t.Run("created together, the last first", func(t *testing.T) {
		s := newStory(t)
		s.coordinate(s.coordination("shop"))
		s.atOnce(func() { s.Create(s.deployment("c"), s.deployment("b"), s.deployment("a")) })
		s.awaitUnpaused("a", "b", "c")
		s.awaitComplete("a", "b", "c")
		s.awaitReady("shop")
		assert.Equal(t, []string{"a", "b", "c"}, s.verdict().Order())
	})
	t.Run("changed together, the last first", func(t *testing.T) {
		s := newStory(t)
		s.coordinate(s.coordination("shop"))
		s.Create(s.deployment("a"), s.deployment("b"), s.deployment("c"))
		s.awaitUnpaused("a", "b", "c")
		s.awaitReady("shop")
		s.atOnce(func() {
			for _, name := range []string{"c", "b", "a"} {
				s.update(name, image("2", "0s"))
				assert.True(t, s.get(name).Spec.Paused, "paused by the request itself")
			}
		})
		s.awaitUnpaused("a", "b", "c")
		s.awaitComplete("a", "b", "c")
		s.awaitReady("shop")
		assert.Equal(t, []string{"a", "b", "c"}, s.verdict().Order()[3:])

		status := s.status("shop")
		assert.Empty(t, status.ActiveDeployment)
		assert.Equal(t, []string{s.Namespace + "/a", s.Namespace + "/b", s.Namespace + "/c"}, status.Deployments)
		for _, state := range status.DeploymentStates {
			assert.False(t, state.HasPendingChanges)
			require.NotNil(t, state.LastRolloutStarted)
			require.NotNil(t, state.LastRolloutFinished)
			assert.False(t, state.LastRolloutFinished.Before(state.LastRolloutStarted))
		}
		for _, reason := range []string{
			v1.EventDeploymentActivated, v1.EventDeploymentPaused, v1.EventDeploymentUnpaused,
			v1.EventActiveDeploymentReady, v1.EventActiveDeploymentChanged, v1.EventActiveDeploymentCleared,
		} {
			s.awaitEvent(reason)
		}
	})
}

// atOnce makes changes that come together to the controller, however slow the machine is: it is down while they are made. While it
// runs, those that come within a second count as such; this is tested with the decision, which has a clock of its own.
func (s *story) atOnce(change func()) {
	s.Helper()
	s.WhileControllerDown(change)
}

func TestTheNextWaitsUntilTheOneBeforeIsRolledOut(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.rolledOut(s.coordination("shop"), "a", "b")
	s.update("a", image("2", "never"))
	s.update("b", image("2", "0s"))
	s.awaitActive("a")
	s.fence()
	assert.True(t, s.get("b").Spec.Paused)
	s.awaitCondition("shop", v1.ConditionReady, "False "+v1.ReasonDeploymentsInProgress)
	s.awaitCondition("shop", v1.ConditionProgressing, "True "+v1.ReasonDeploymentRollingOut)

	t.Log("a rollback while active goes at once")
	s.update("a", image("1", "0s"))
	assert.False(t, s.get("a").Spec.Paused)
	s.awaitUnpaused("b")
	s.awaitComplete("a", "b")
	s.awaitReady("shop")
}

// To the second, with a clock of their own, they are in the tests of the decision.
func TestMinReadySecondsAreRespected(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	const wait = 4
	s.coordinate(s.coordination("shop", minReady(wait)))
	s.Create(s.deployment("a"), s.deployment("b"))
	s.awaitReady("shop")
	rollouts := s.verdict().Rollouts
	require.Len(t, rollouts, 2)
	idle := rollouts[1].Began.Sub(s.finished("a"))
	assert.GreaterOrEqual(t, idle, (wait+1)*time.Second, "timestamps are cut to seconds: one more is counted")
	assert.Less(t, idle, (wait+20)*time.Second)
}

// finished is when the Deployment controller says that a rollout was at its end, cut to whole seconds.
func (s *story) finished(name string) time.Time {
	s.Helper()
	for _, c := range s.get(name).Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing {
			return c.LastUpdateTime.Time
		}
	}
	require.Fail(s, "a condition is missing", "%s of %s", appsv1.DeploymentProgressing, name)
	return time.Time{}
}

func TestADeploymentCreatedWhileAnotherRolls(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	b := s.deployment("b")
	image("1", "never")(b)
	s.coordinate(s.coordination("shop"))
	s.Create(b)
	s.awaitActive("b")
	s.Create(s.deployment("a"))
	assert.True(t, s.get("a").Spec.Paused)
	s.fence()
	assert.True(t, s.get("a").Spec.Paused)
	assert.Equal(t, s.Namespace+"/b", s.status("shop").ActiveDeployment, "a comes first by name, but not out of turn")
	s.update("b", image("2", "0s"))
	s.awaitUnpaused("a")
	s.awaitReady("shop")
}

func TestARolloutThatIsUnderWayWhenItComesUnderCoordination(t *testing.T) {
	t.Parallel()
	t.Run("by a new coordination", func(t *testing.T) {
		t.Parallel()
		s := newStory(t)
		for _, name := range []string{"a", "z"} {
			s.Create(s.deployment(name))
			s.awaitComplete(name)
		}
		s.halfway("z")
		s.coordinate(s.coordination("shop"))
		s.awaitActive("z")
		s.update("a", image("2", "0s"))
		s.fence()
		assert.True(t, s.get("a").Spec.Paused)
		assert.False(t, s.get("z").Spec.Paused)
		s.update("z", image("3", "0s"))
		s.awaitReady("shop")
		s.awaitComplete("a", "z")
		assert.Equal(t, 0, s.pauses("z"), "it never was paused")
	})
	t.Run("by a label", func(t *testing.T) {
		t.Parallel()
		s := newStory(t)
		z := s.deployment("z")
		z.Labels = nil
		s.Create(z)
		s.awaitComplete("z")
		s.rolledOut(s.coordination("shop"), "a")
		s.halfway("z")
		s.update("z", func(d *appsv1.Deployment) { d.Labels = map[string]string{"app": "shop"} })
		s.awaitActive("z")
		s.update("z", image("3", "0s"))
		s.awaitReady("shop")
		assert.Equal(t, 0, s.pauses("z"))
	})
}

// halfway changes a Deployment to a template whose pods are never ready, and waits until one exists.
func (s *story) halfway(name string) {
	s.Helper()
	s.update(name, image("2", "never"))
	s.Await(name+" to have a new pod", func() bool {
		d := s.get(name)
		return d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas > 0
	})
}

// pauses is how often the watcher saw a rollout of the Deployment end without being complete.
func (s *story) pauses(name string) int {
	s.Helper()
	pauses := 0
	for _, r := range s.verdict().Rollouts {
		if r.Deployment.Name == name && r.To != "" && !r.Complete {
			pauses++
		}
	}
	return pauses
}

func TestWhoHasWaitedLongestGoesFirst(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.rolledOut(s.coordination("shop"), "a", "b", "c")
	began := len(s.verdict().Rollouts)
	s.update("b", image("2", "never"))
	s.awaitActive("b")
	s.update("c", image("2", "0s"))
	var since time.Time
	s.Await("c to be on record", func() bool {
		pending := s.status("shop").DeploymentStates[2].PendingSince
		if pending != nil {
			since = pending.Time
		}
		return pending != nil
	})
	s.Await("the second to be over in which a would have come with c", func() bool { return time.Since(since) > 2*time.Second })
	s.update("a", image("2", "0s"))
	s.Await("a to be on record", func() bool { return s.status("shop").DeploymentStates[0].Paused })
	s.update("b", image("3", "0s"))
	s.awaitReady("shop")
	var order []string
	for _, r := range s.after(began) {
		order = append(order, r.Deployment.Name)
	}
	assert.Equal(t, []string{"b", "c", "a"}, order)
}

func TestAnEvictedPodDoesNotKeepTheTurn(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.rolledOut(s.coordination("shop", minReady(2)), "a", "b")
	s.update("a", image("2", "5s"))
	s.update("b", image("2", "0s"))
	s.evictOne("a", "example.com/app:2")
	s.awaitUnpaused("b")
	s.awaitComplete("a", "b")
	s.awaitReady("shop")
}

// evictOne makes a pod fail as a kubelet does that evicts it: the pod stays, and its ReplicaSet creates another.
func (s *story) evictOne(deployment, image string) {
	s.Helper()
	s.Await("a pod to be evicted", func() bool {
		var pods corev1.PodList
		require.NoError(s, s.API.List(s.Ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels{"deployment": deployment}))
		for i := range pods.Items {
			pod := &pods.Items[i]
			if pod.Spec.Containers[0].Image != image || pod.Spec.NodeName == "" {
				continue
			}
			pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "Evicted"
			for i := range pod.Status.Conditions {
				if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
					c.Status = corev1.ConditionFalse
				}
			}
			return s.API.Status().Update(s.Ctx, pod) == nil
		}
		return false
	})
}

func TestTheActiveDeploymentIsDeleted(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	a := s.deployment("a")
	image("1", "never")(a)
	s.coordinate(s.coordination("shop"))
	s.Create(a, s.deployment("b"))
	s.awaitActive("a")
	s.Delete(a)
	s.awaitComplete("b")
	s.awaitReady("shop")
}

func TestScalingIsNeverBlocked(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.rolledOut(s.coordination("shop"), "a", "b", "c")
	began := len(s.verdict().Rollouts)
	s.update("a", image("2", "never"))
	s.awaitActive("a")
	s.update("b", image("2", "0s"))
	scale := func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(4)) }
	s.update("b", scale) // waits, paused
	s.update("c", scale) // has nothing to roll out
	for _, name := range []string{"b", "c"} {
		s.Await(name+" to have 4 pods", func() bool { return s.get(name).Status.AvailableReplicas == 4 })
	}
	assert.True(t, s.get("b").Spec.Paused)
	assert.False(t, s.get("c").Spec.Paused)
	s.update("a", scale) // an autoscaler does not care that it rolls out
	s.update("a", image("3", "0s"))
	s.awaitReady("shop")
	s.awaitComplete("a", "b", "c")
	for _, r := range s.after(began) {
		assert.NotEqual(t, "c", r.Deployment.Name, "c never rolled out")
	}
}

func TestManyDeployments(t *testing.T) {
	s := newStory(t)
	s.coordinate(s.coordination("shop"))
	const many = 20
	var want []string
	for i := range many {
		want = append(want, fmt.Sprintf("d%02d", i))
	}
	for _, name := range slices.Backward(want) {
		d := s.deployment(name)
		d.Spec.Replicas = new(int32(1))
		s.Create(d)
	}
	cluster.AwaitWithin(t, 4*time.Minute, "all to have rolled out", func() bool {
		status := s.status("shop")
		return len(status.Deployments) == many && status.ActiveDeployment == "" && !slices.ContainsFunc(status.DeploymentStates,
			func(state v1.DeploymentState) bool { return state.HasPendingChanges })
	})
	verdict := s.verdict()
	got := verdict.Order()
	// The first goes a second after the first was seen; on a loaded machine not all may be there by then.
	assert.ElementsMatch(t, want, got)
	var idle []time.Duration
	for i := range many - 1 {
		idle = append(idle, verdict.Rollouts[i+1].Began.Sub(verdict.Rollouts[i].Ended))
	}
	slices.Sort(idle)
	t.Logf("idle between one rolled out and the next unpaused: median %s, longest %s", idle[len(idle)/2], idle[len(idle)-1])
}

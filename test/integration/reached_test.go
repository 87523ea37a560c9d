package integration

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
)

// reachable is a condition that an operator sets.
const reachable = "example.com/Reachable"

// operatorSays sets a condition of a pod, as the operator does that looks after it.
func (s *story) operatorSays(name string, reached corev1.ConditionStatus) {
	s.Helper()
	cluster.ChangeStatus(s.Story, s.getPod(name), func(pod *corev1.Pod) {
		pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == reachable })
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: reachable, Status: reached, Reason: "Probed", LastTransitionTime: metav1.Now(),
		})
	})
}

func TestWorkersStartWhenTheirLeaderHasStarted(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("ray").Pods("Leader", "leader").Started().Label("Workers", "tier", "worker").Label("Clients", "tier", "client").Obj())
	s.createPods(s.pod("leader").SchedulingGates([]string{"example.com/quota"}), s.pod("worker-1").Label("tier", "worker"),
		s.pod("worker-2").Label("tier", "worker"), s.pod("client").Label("tier", "client"))
	s.awaitHeldFor("worker-1", `waiting for group 1/3 "Leader" of PodSequence `+s.Namespace+`/ray: 0 of 1 pods started`)
	s.expectHeld("worker-1", "worker-2", "client")
	s.Patch(s.Pod("leader"), map[string]any{"spec": map[string]any{"schedulingGates": []any{}}})
	s.awaitBound("leader", "worker-1", "worker-2")
	assert.False(t, cluster.IsReady(s.getPod("leader")))
	s.expectHeld("client")
	s.makeReady("worker-1", "worker-2")
	s.awaitBound("client")
	s.makeReady("client")
	s.awaitPhase("ray", v1alpha1.PhaseCompleted)
}

func TestAGroupThatWaitsForAConditionOfItsPods(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	waits := func(s *story) *SequenceWrapper {
		return s.sequence("shop").Label("Database", "tier", "db").Condition(reachable).Label("Application", "tier", "app")
	}
	t.Run("of each, ready or not", func(t *testing.T) {
		t.Parallel()
		s := newStory(t)
		s.Create(waits(s).Obj())
		s.createPods(s.pod("db-0").Label("tier", "db"), s.pod("db-1").Label("tier", "db"), s.pod("app").Label("tier", "app"))
		s.awaitBound("db-0", "db-1")
		s.makeReady("db-0")
		s.operatorSays("db-1", corev1.ConditionTrue)
		s.awaitGroup("shop", 0, 1, 2)
		s.awaitHeldFor("app", " of 2 pods with condition "+reachable)
		s.operatorSays("db-0", corev1.ConditionFalse)
		s.expectHeld("app")
		s.operatorSays("db-0", corev1.ConditionTrue)
		s.awaitBound("app")
	})
	t.Run("which they must keep with Continuous", func(t *testing.T) {
		t.Parallel()
		s := newStory(t)
		s.Create(waits(s).Mode(v1alpha1.Continuous).Obj())
		s.createPods(s.pod("db").Label("tier", "db"), s.pod("app-1").Label("tier", "app"))
		s.awaitBound("db")
		s.operatorSays("db", corev1.ConditionTrue)
		s.awaitBound("app-1")
		s.operatorSays("db", corev1.ConditionFalse)
		s.awaitGroup("shop", 0, 0, 1)
		s.createPods(s.pod("app-2").Label("tier", "app"))
		s.expectHeld("app-2")
		s.operatorSays("db", corev1.ConditionTrue)
		s.awaitBound("app-2")
	})
}

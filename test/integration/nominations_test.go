package integration

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// The application was promised the only room into which the database, for which it waits again, could move.
func TestAHeldPodGivesBackTheRoomThatItWasPromised(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newNodeStory(t, "first", "second")
	s.promiseRoomToTheApplication()
	s.databaseLosesItsNode()
	s.databaseMovesIn()
}

func TestAHeldPodGivesBackItsRoomAfterARestart(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newNodeStoryIn(t, exclusively(t), "first", "second")
	s.promiseRoomToTheApplication()
	promised := s.getPod("app").Status.NominatedNodeName
	s.WhileDown(controlplane.PodSequenceScheduler, func() {
		s.databaseLosesItsNode()
		assert.Equal(t, promised, s.getPod("app").Status.NominatedNodeName)
	})
	s.databaseMovesIn()
}

// A pod that may be scheduled keeps its nomination, though this scheduler does not know that yet when it starts.
func TestARestartKeepsTheNominationOfAReleasedPod(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newNodeStoryIn(t, exclusively(t), "first", "second")
	s.promiseRoomToTheApplication()
	changes := s.Watch(t.Context(), &corev1.PodList{})
	defer changes.Stop()
	s.Restart(controlplane.PodSequenceScheduler)
	s.fenceNodes()
	s.annotate("app", "example.com/seen", "until here")
	for change := range changes.ResultChan() {
		app, ok := change.Object.(*corev1.Pod)
		if !ok || app.Name != "app" {
			continue
		}
		assert.Equal(t, s.node("second"), app.Status.NominatedNodeName)
		if app.Annotations["example.com/seen"] != "" {
			break
		}
	}
	s.victimGoes()
	s.awaitBound("app")
}

// promiseRoomToTheApplication starts the database on the first node, and gets the application nominated to the second, where a
// pod that was evicted for it takes long to end.
func (s *nodeStory) promiseRoomToTheApplication() {
	s.Helper()
	high := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}, Value: 1000}
	s.Create(high)
	s.Cleanup(func() { assert.NoError(s, s.API.Delete(context.Background(), high)) })
	victim := s.pinned("victim", "", "second").Req(mostOfANode)
	victim.Annotation(cluster.GoneAfter, "1h").Finalizers = []string{"example.com/slow"}
	s.Create(s.continuous(tier("db"), tier("app")))
	s.createPods(victim)
	s.awaitBound("victim")
	s.createPods(s.important("db-0", "db"))
	s.awaitBound("db-0")
	s.makeReady("db-0")
	s.createPods(s.important("app", "app"))
	s.Await("the application to be promised room", func() bool { return s.getPod("app").Status.NominatedNodeName == s.node("second") })
	s.Await("the victim to be evicted", func() bool { return s.getPod("victim").DeletionTimestamp != nil }) // the scheduler does so afterwards
}

var mostOfANode = map[corev1.ResourceName]string{"cpu": "3"}

// important is a pod that fits on a node of its own only.
func (s *nodeStory) important(name, tier string) *st.PodWrapper {
	p := s.here(name, tier).Req(mostOfANode)
	p.Spec.PriorityClassName = s.Namespace
	return p
}

// databaseLosesItsNode leaves only the room on the second node for the database's next pod.
func (s *nodeStory) databaseLosesItsNode() {
	s.Helper()
	s.changeNode("first", cordoned)
	s.Delete(s.Pod("db-0"))
	s.AwaitGone(s.Pod("db-0"))
	s.createPods(s.important("db-1", "db"))
	s.victimGoes()
}

func (s *nodeStory) victimGoes() {
	s.Helper()
	s.Patch(s.Pod("victim"), `{"metadata":{"finalizers":null}}`)
	s.AwaitGone(s.Pod("victim"))
}

func (s *nodeStory) databaseMovesIn() {
	s.Helper()
	s.awaitBound("db-1")
	assert.Equal(s, s.node("second"), s.getPod("db-1").Spec.NodeName)
	s.expectUnplaced("app")
	assert.Empty(s, s.getPod("app").Status.NominatedNodeName)
}

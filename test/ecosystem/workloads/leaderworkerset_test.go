package workloads

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// leaderWorkerSet is one of one leader and some workers. Its controller creates a StatefulSet of leaders, and for each leader, once its pod is
// there, one of its workers, which the pod owns. When one of them fails, it deletes the leader, and with it goes everything.
type leaderWorkerSet struct {
	*story
	name    string
	workers int32
}

func (s *story) leaderWorkerSet(name string, workers int32) leaderWorkerSet {
	s.Helper()
	l := leaderWorkerSet{s, name, workers}
	owner := s.ofKind("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", name)
	s.Create(owner)
	s.Create(s.statefulSet(name, name, 1, owner))
	return l
}

// statefulSet is one that an object owns.
func (s *story) statefulSet(name, app string, replicas int32, owner client.Object) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: s.Meta(name)}
	gvk, err := s.API.GroupVersionKindFor(owner)
	if err != nil {
		s.Fatal(err)
	}
	set.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, gvk)}
	set.Spec.Replicas, set.Spec.PodManagementPolicy = &replicas, appsv1.ParallelPodManagement
	set.Spec.Template = template(app)
	set.Spec.Template.Labels["set"] = name
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"set": name}}
	return set
}

// leader waits until the pod of the leader is bound.
func (l leaderWorkerSet) leader() (leader corev1.Pod) {
	l.Helper()
	l.Await("the leader", func() bool {
		pods := l.pods("set", l.name)
		if len(pods) == 1 {
			leader = pods[0]
		}
		return bound(pods) == 1
	})
	return leader
}

// addWorkers creates the workers of the leader, and waits until all of them are bound.
func (l leaderWorkerSet) addWorkers(leader corev1.Pod) []corev1.Pod {
	l.Helper()
	l.Create(l.statefulSet(leader.Name, l.name, l.workers, &leader))
	l.Await("the workers", func() bool { return bound(l.pods("set", leader.Name)) == int(l.workers) })
	return l.pods("set", leader.Name)
}

// A leader that is ready while its workers do not exist yet is not the whole set: expectedPods says so.
func TestAGroupWaitsForTheWorkersOfALeaderWorkerSet(t *testing.T) {
	s := newStory(t)
	ps := MakeSequence(s.Namespace, "shop").Label("Model", "app", "model").Label("Gateway", "app", "gateway").Obj()
	ps.Spec.PodGroups[0].ExpectedPods = 3
	s.Create(ps)
	s.podsOf("gateway", 1)
	model := s.leaderWorkerSet("model", 2)
	leader := model.leader()
	s.makeReady(leader)
	s.expectHeld("gateway", 1)
	s.makeReady(model.addWorkers(leader)...)
	s.awaitBound("gateway", 1)
}

func TestALeaderWorkerSetThatIsRestartedIsNotHeldAgain(t *testing.T) {
	for name, mode := range map[string]v1alpha1.EnforcementMode{"bootstrap": v1alpha1.BootstrapOnly, "continuous": v1alpha1.Continuous} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			ps := MakeSequence(s.Namespace, "shop").Mode(mode).Label("Database", "app", "db").Label("Model", "app", "model").Obj()
			ps.Spec.PodGroups[1].ExpectedPods = 3
			s.Create(ps)
			model := s.leaderWorkerSet("model", 2)
			s.expectHeld("model", 1)
			db := s.podsOf("db", 1)
			s.awaitBound("db", 1)
			s.makeReady(db...)
			leader := model.leader()
			workers := model.addWorkers(leader)

			for _, pod := range append(workers, leader) { // as its controller does when one of them fails
				s.Delete(s.Pod(pod.Name))
			}
			s.Await("another leader", func() bool {
				pods := s.pods("set", "model")
				return len(pods) == 1 && pods[0].UID != leader.UID && bound(pods) == 1
			})
		})
	}
}

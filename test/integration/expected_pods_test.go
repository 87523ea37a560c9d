package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"k8s.io/utils/ptr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/slow"
)

// ofUnknownKind makes a pod one of an owner of a kind that we do not know as a workload. The owner exists, or the garbage
// collector would remove the pod.
func (s *story) ofUnknownKind(name string, owner *corev1.ConfigMap) *st.PodWrapper {
	pod := s.pod(name).Label("tier", "worker")
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: ptr.To(true),
	}}
	return pod
}

func TestAGroupExpectsSoManyPodsOfAnOwnerOfUnknownKind(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	owner := &corev1.ConfigMap{ObjectMeta: s.Meta("leaderworkerset")}
	s.Create(owner, s.sequence("training").
		Group(v1alpha1.PodGroup{Name: "Workers", PodSelector: byLabel("tier", "worker"), ExpectedPods: 3}).Pods("Dashboard", "dashboard").Obj())
	s.createPods(s.pod("dashboard"), s.ofUnknownKind("worker-0", owner))
	s.awaitBound("worker-0")
	s.makeReady("worker-0")
	s.awaitGroup("training", 0, 1, 3)
	s.expectHeld("dashboard")
	s.createPods(s.ofUnknownKind("worker-1", owner))
	s.awaitBound("worker-1")
	s.makeReady("worker-1")
	s.expectHeld("dashboard")
	s.createPods(s.ofUnknownKind("worker-2", owner))
	s.awaitBound("worker-2")
	s.expectHeld("dashboard")
	s.makeReady("worker-2")
	s.awaitBound("dashboard")
}

func TestWorkloadsMayAskForMoreThanExpectedPods(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Group(v1alpha1.PodGroup{Name: "Database", PodSelector: byLabel("tier", "db"), ExpectedPods: 1}).
		Pods("Application", "app").Obj(), s.statefulSet("db", "db", 2))
	s.createPods(s.pod("app"))
	s.awaitCreated("db-0")
	s.awaitBound("db-0")
	s.makeReady("db-0")
	s.awaitCreated("db-1")
	s.expectHeld("app")
	s.awaitBound("db-1")
	s.makeReady("db-1")
	s.awaitBound("app")
}

func TestAShareOfExpectedPodsIsEnough(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Group(v1alpha1.PodGroup{Name: "Store", PodSelector: byLabel("tier", "store"), ExpectedPods: 4}).
		MinAvailable("50%").Pods("Client", "client").Obj())
	s.createPods(s.pod("client"))
	s.createTier("one", "store")
	s.awaitBound("one")
	s.makeReady("one")
	s.expectHeld("client")
	s.createTier("two", "store")
	s.awaitBound("two")
	s.makeReady("two")
	s.awaitBound("client")
}

package integration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
)

// aWhile is more than the referee allows a scheduler to be behind.
const aWhile = 4 * time.Second

// The referee must know what a group asks for besides the pods there are. In each of these a pod is bound by hand although
// some group before its own has not got it.
func TestTheRefereeKnowsWhatAGroupWaitsFor(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	t.Run("the second replica of a StatefulSet, of which the first is ready", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.sequence("shop").Label("Database", "tier", "db").Pods("Late", "early").Obj(), s.statefulSet("db", "db", 2))
		s.createPods(s.pod("early"))
		s.awaitCreated("db-0")
		s.awaitBound("db-0")
		s.makeReady("db-0")
		s.awaitCreated("db-1")
		s.bindByHand("early")
		s.violates = []string{"early"}
		s.charge = "StatefulSet db had 1 of 2 pods ready"
	})
	t.Run("a workload of which there is no pod yet", func(t *testing.T) {
		s := newStory(t)
		db := s.statefulSet("db", "db", 1)
		db.Spec.Template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/never"}}
		s.Create(s.sequence("shop").Label("Database", "tier", "db").Pods("Late", "early").Obj(), db)
		s.createPods(s.pod("beside").Label("tier", "db"), s.pod("early"))
		s.awaitBound("beside")
		s.makeReady("beside")
		s.bindByHand("early")
		s.violates = []string{"early"}
	})
	t.Run("a wait that is not over", func(t *testing.T) {
		s := newStory(t)
		s.Create(s.sequence("shop").
			Group(v1alpha1.PodGroup{Name: "Database", Pods: []string{"db"}, WaitDuration: "1h"}).Pods("Late", "early").Obj())
		s.createPods(s.pod("db"), s.pod("early"))
		s.awaitBound("db")
		s.makeReady("db")
		s.bindByHand("early")
		s.violates = []string{"early"}
		s.charge = "to wait for 1h0m0s"
	})
	t.Run("a suspended sequence", func(t *testing.T) {
		s := newStory(t)
		sequence := s.sequence("shop").Pods("Database", "early").Obj()
		sequence.Spec.Suspend = true
		s.Create(sequence)
		s.createPods(s.pod("early"))
		s.bindByHand("early")
		s.violates = []string{"early"}
		s.charge = "which is suspended"
	})
	t.Run("a group that is no longer ready, enforced continuously", func(t *testing.T) {
		s := newStory(t)
		sequence := s.sequence("shop").Pods("Database", "db").Pods("Late", "fine", "early").Obj()
		sequence.Spec.EnforcementMode = v1alpha1.Continuous
		s.Create(sequence)
		s.createPods(s.pod("db"), s.pod("fine"))
		s.awaitBound("db")
		s.makeReady("db")
		s.awaitBound("fine")
		s.annotate("db", cluster.ReadyAfter, "never")
		s.Await("db not to be ready", func() bool { return !cluster.IsReady(s.getPod("db")) })
		broken := time.Now()
		s.createPods(s.pod("early"))
		s.Await("the referee's allowance to be over", func() bool { return time.Since(broken) > aWhile })
		s.bindByHand("early")
		s.violates = []string{"early"}
		s.charge = "it was ready until"
	})
	t.Run("a PodSequence that a label names, and that does not exist", func(t *testing.T) {
		s := newStory(t)
		s.createPods(s.pod("early").Label(v1alpha1.SequenceLabel, "shop"))
		s.bindByHand("early")
		s.violates = []string{"early"}
		s.charge = "its label names PodSequence " + s.Namespace + "/shop, which had never existed"
	})
	t.Run("any sequence, in a namespace that requires one", func(t *testing.T) {
		s := newStory(t)
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}
		s.Annotate(namespace, v1alpha1.RequireSequenceAnnotation, v1alpha1.RequireSequence)
		s.createPods(s.pod("early"))
		s.bindByHand("early")
		s.violates = []string{"early"}
		s.charge = "its namespace requires a sequence, and none had it"
	})
	t.Run("a node whose driver is not ready, though those of others are", func(t *testing.T) {
		s := newStory(t)
		sequence := s.sequence("shop").Label("Driver", "tier", "csi").Pods("Late", "early").Obj()
		sequence.Spec.Scope = v1alpha1.ScopeNode
		s.Create(sequence, s.daemonSet("csi", "csi"))
		s.createPods(s.pod("early").NodeSelector(map[string]string{corev1.LabelHostname: "node-0"}))
		s.Await("drivers to be bound everywhere", func() bool { return len(s.driversByNode()) == 4 })
		for node, driver := range s.driversByNode() {
			if node != "node-0" {
				s.makeReady(driver)
			}
		}
		s.bindByHand("early")
		s.violates = []string{"early"}
		s.charge = `group 1/2 "Driver" had not been ready on that node`
	})
}

// What our scheduler does on nodes is right.
func TestTheRefereeIsContentWhereTheDriverIsReady(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	sequence := s.sequence("shop").Label("Driver", "tier", "csi").Pods("Late", "app").Obj()
	sequence.Spec.Scope = v1alpha1.ScopeNode
	s.Create(sequence, s.daemonSet("csi", "csi"))
	s.Await("drivers to be bound everywhere", func() bool { return len(s.driversByNode()) == 4 })
	s.createPods(s.pod("app"))
	s.makeReady(s.driversByNode()["node-0"])
	s.awaitBound("app")
	assert.Equal(t, "node-0", s.getPod("app").Spec.NodeName)
}

// awaitCreated waits until a controller has created a pod.
func (s *story) awaitCreated(name string) {
	s.Helper()
	key := client.ObjectKey{Namespace: s.Namespace, Name: name}
	s.Await(name+" to be created", func() bool { return s.API.Get(s.Ctx, key, &corev1.Pod{}) == nil })
}

// statefulSet is one of pods of our scheduler that are not ready before the test says so.
func (s *story) statefulSet(name, tier string, replicas int32) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	set.Spec.Replicas, set.Spec.Template = &replicas, s.template(tier)
	set.Spec.Selector = metav1.SetAsLabelSelector(set.Spec.Template.Labels)
	return set
}

func (s *story) daemonSet(name, tier string) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	set.Spec.Template = s.template(tier)
	set.Spec.Selector = metav1.SetAsLabelSelector(set.Spec.Template.Labels)
	return set
}

func (s *story) template(tier string) corev1.PodTemplateSpec {
	pod := s.pod("any").Label("tier", tier).Obj()
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations}, Spec: pod.Spec,
	}
}

// driversByNode are the names of the bound pods of tier csi.
func (s *story) driversByNode() map[string]string {
	s.Helper()
	pods := &corev1.PodList{}
	if !assert.NoError(s, s.API.List(s.Ctx, pods, client.InNamespace(s.Namespace), client.MatchingLabels{"tier": "csi"})) {
		return nil
	}
	drivers := map[string]string{}
	for _, pod := range pods.Items {
		if pod.Spec.NodeName != "" {
			drivers[pod.Spec.NodeName] = pod.Name
		}
	}
	return drivers
}

package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

func TestAnOrderedStatefulSetIsReadyWithItsLastPod(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Group(tier("db")).Pods("Application", "app").Obj(), s.statefulSet("db", "db", 5))
	s.createPods(s.pod("app"))
	for _, pod := range []string{"db-0", "db-1", "db-2", "db-3", "db-4"} {
		s.Await(pod+" to work", func() bool { return len(s.podsOf("db", isWorking)) == 1 })
		s.expectHeld("app")
		s.makeReady(pod)
	}
	s.awaitBound("app")
}

func TestEveryKindOfWorkloadSaysWhatToExpect(t *testing.T) {
	t.Parallel()
	for name, workload := range map[string]func(*story) client.Object{
		"Deployment": func(s *story) client.Object { return s.deployment("db", 2) },
		"ReplicaSet": func(s *story) client.Object { return s.replicaSet("db", "db", 2) },
		"ReplicationController": func(s *story) client.Object {
			set := s.replicaSet("db", "db", 2)
			return &corev1.ReplicationController{ObjectMeta: set.ObjectMeta, Spec: corev1.ReplicationControllerSpec{
				Replicas: set.Spec.Replicas, Selector: set.Spec.Selector.MatchLabels, Template: &set.Spec.Template,
			}}
		},
		"StatefulSet": func(s *story) client.Object {
			set := s.statefulSet("db", "db", 2)
			set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
			return set
		},
		"DaemonSet": func(s *story) client.Object {
			set := s.daemonSet("db", "db")
			set.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{
						Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"node-0", "node-1"},
					}},
				}}},
			}}
			return set
		},
		"Job": func(s *story) client.Object { return s.job("db", "db", 5, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.Create(s.sequence("shop").Group(tier("db")).Pods("Application", "app").Obj(), workload(s))
			s.createPods(s.pod("app"))
			pods := s.awaitWorking("db", 2)
			s.makeReady(pods[0])
			s.awaitGroup("shop", 0, 1, 2)
			s.expectHeld("app")
			s.makeReady(pods[1])
			s.awaitBound("app")
		})
	}
}

// Without the controller-manager things stay that it would change at once.
func TestExpectedMembersWithoutTheControllerManager(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	t.Run("a Deployment that has no ReplicaSet yet holds the next group", func(t *testing.T) {
		s := newStoryIn(t, exclusively(t))
		start := s.stopControllerManager()
		s.Create(s.sequence("shop").Group(tier("db")).Pods("Application", "app").Obj(), s.deployment("db", 1))
		s.createPods(s.pod("alone").Label("tier", "db").Annotation(cluster.ReadyAfter, "0s"), s.pod("app"))
		s.Await("the pod beside it to be ready", func() bool { return cluster.IsReady(s.getPod("alone")) })
		s.awaitGroup("shop", 0, 1, 2)
		s.expectHeld("app")
		start()
		s.makeReady(s.awaitWorking("db", 1)...)
		s.awaitBound("app")
	})
	t.Run("a surplus of one workload does not cover a gap in another", func(t *testing.T) {
		s := newStoryIn(t, exclusively(t))
		s.Create(s.sequence("shop").Group(tier("db")).Pods("Application", "app").Obj())
		one, two := s.replicaSet("one", "db", 1), s.replicaSet("two", "db", 2)
		s.Create(one, two)
		s.createPods(s.pod("app"))
		s.awaitWorking("db", 3)
		s.Await("both ReplicaSets to be observed: they do not count before", func() bool {
			for _, set := range []*appsv1.ReplicaSet{one, two} {
				require.NoError(t, s.API.Get(s.Ctx, client.ObjectKeyFromObject(set), set))
			}
			return one.Status.ObservedGeneration == one.Generation && two.Status.ObservedGeneration == two.Generation
		})
		s.stopControllerManager() // it would remove the surplus
		surplus := s.pod("surplus").Labels(map[string]string{"tier": "db", "set": "one"}).Obj()
		surplus.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(one, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
		s.Create(surplus)
		var last string
		for _, pod := range s.awaitWorking("db", 4) {
			if s.getPod(pod).Labels["set"] == "two" && last == "" {
				last = pod
				continue
			}
			s.makeReady(pod)
		}
		s.awaitGroup("shop", 0, 2, 3)
		s.expectHeld("app")
		s.makeReady(last)
		s.awaitBound("app")
	})
}

// stopControllerManager stops the controller-manager until the end of the test, or until what it returns is called.
func (s *story) stopControllerManager() (start func()) {
	s.Helper()
	require.NoError(s, s.Cluster.Kill(s.Ctx, controlplane.ControllerManager))
	stopped := true
	start = func() {
		if stopped {
			stopped = false
			require.NoError(s, s.Cluster.StartComponent(s.Ctx, controlplane.ControllerManager))
		}
	}
	s.Cleanup(start)
	return start
}

func TestAPodThatAnEarlierGroupNamesIsNotExpectedAgain(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Pods("Primary", "db-0").Group(tier("db")).Pods("Application", "app").Obj(), s.statefulSet("db", "db", 3))
	s.createPods(s.pod("app"))
	s.Await("the primary to work", func() bool { return len(s.podsOf("db", isWorking)) == 1 })
	s.awaitGroup("shop", 1, 0, 2)
	s.makeReady("db-0")
	s.awaitWorking("db", 1)
	s.makeReady("db-1")
	s.awaitGroup("shop", 1, 1, 2)
	s.expectHeld("app")
	s.awaitWorking("db", 1)
	s.makeReady("db-2")
	s.awaitBound("app")
}

func TestScaledToZero(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.Create(s.sequence("shop").Group(tier("db")).Pods("Application", "app").Obj())
	s.createPods(s.pod("app"))
	s.awaitCondition("shop", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForPods)
	s.expectHeld("app") // nothing matches yet
	s.Create(s.deployment("db", 0))
	s.awaitBound("app") // no pods expected
}

func TestPodsBesideWorkloads(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	t.Run("a standalone pod counts beside the workloads", func(t *testing.T) {
		t.Parallel()
		s := newStory(t)
		s.Create(s.sequence("shop").Group(tier("db")).Pods("Application", "app").Obj(), s.deployment("db", 1))
		s.createPods(s.pod("alone").Label("tier", "db"), s.pod("app"))
		s.awaitWorking("db", 2)
		for _, pod := range s.podsOf("db", func(p *corev1.Pod) bool { return p.Name != "alone" }) {
			s.makeReady(pod)
		}
		s.awaitGroup("shop", 0, 1, 2)
		s.expectHeld("app")
		s.makeReady("alone")
		s.awaitBound("app")
	})
	t.Run("pods of an owner of a kind we do not know count by themselves, failed ones not at all", func(t *testing.T) {
		t.Parallel()
		s := newStory(t)
		owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "owner"}}
		s.Create(s.sequence("shop").Group(tier("db")).Pods("Application", "app").Obj(), owner)
		for _, name := range []string{"one", "two", "three"} {
			pod := s.pod(name).Label("tier", "db").Obj()
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
			s.Create(pod)
		}
		s.createPods(s.pod("app"))
		s.awaitWorking("db", 3)
		s.makeReady("one")
		s.fail("two")
		s.awaitGroup("shop", 0, 1, 2)
		s.expectHeld("app")
		assert.Equal(t, v1alpha1.PhaseInProgress, s.getSequence("shop").Status.Phase)
		s.makeReady("three")
		s.awaitBound("app")
	})
}

func TestMinAvailable(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for name, tt := range map[string]struct {
		replicas     int32
		minAvailable intstr.IntOrString
		needs        int
	}{
		"a quorum of 3 out of 5":                {5, intstr.FromInt32(3), 3},
		"34% of 3 is rounded up to 2":           {3, intstr.FromString("34%"), 2},
		"100% is all of them":                   {2, intstr.FromString("100%"), 2},
		"a number may be less than what exists": {2, intstr.FromInt32(1), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			group := tier("db")
			group.MinAvailable = ptr.To(tt.minAvailable)
			s.Create(s.sequence("shop").Group(group).Pods("Application", "app").Obj(), s.deployment("db", tt.replicas))
			s.createPods(s.pod("app"))
			pods := s.awaitWorking("db", int(tt.replicas))
			s.makeReady(pods[:tt.needs-1]...)
			s.awaitGroup("shop", 0, int32(tt.needs-1), int32(tt.needs))
			s.expectHeld("app")
			s.makeReady(pods[tt.needs-1])
			s.awaitBound("app")
		})
	}
}

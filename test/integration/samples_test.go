package integration

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
)

// applySample creates what a sample has, but for pods that are not ready, or complete, before the test says so.
func (s *story) applySample(file string) {
	s.Helper()
	s.CreateSample(file, func(object *unstructured.Unstructured) {
		if object.GetKind() == v1alpha1.PodSequenceKind.Kind {
			return
		}
		for _, annotation := range []string{cluster.ReadyAfter, cluster.CompleteAfter} {
			require.NoError(s, unstructured.SetNestedField(object.Object, "never", "spec", "template", "metadata", "annotations", annotation))
		}
	})
}

// expectNonePlaced says that these tiers have no pod on a node although everything that happened so far has been dealt
// with.
func (s *story) expectNonePlaced(tiers ...string) {
	s.Helper()
	s.fence()
	for _, tier := range tiers {
		assert.Empty(s, s.podsOf(tier, isPlaced), "%s must wait", tier)
	}
}

func TestSampleDatabaseInitialisation(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.applySample("database-initialisation.yaml")
	schema := s.awaitWorking("schema", 1)
	s.expectNonePlaced("database", "migration", "application")
	s.succeed(schema[0])
	for range 3 {
		pod := s.awaitWorking("database", 1)
		s.expectNonePlaced("migration", "application")
		s.makeReady(pod...)
	}
	for range 2 {
		pod := s.awaitWorking("migration", 1)
		s.expectNonePlaced("application")
		s.succeed(pod[0])
	}
	s.makeReady(s.awaitWorking("application", 2)...)
	s.awaitPhase("orders", v1alpha1.PhaseCompleted)
}

func TestSampleTiersWithWaits(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.applySample("tiers-with-waits.yaml")
	s.makeReady(s.awaitWorking("cache", 2)...)
	s.makeReady(s.awaitWorking("search", 2)[0]) // and the other never
	// The time-out may be over by now. That search waited for the time after the cache, and the frontend for the time-out, the referee says.
	s.awaitWorking("frontend", 2)
	s.awaitCondition("catalogue", v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonPodsReadyTimeout)
}

func TestSampleQuorumStart(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.applySample("quorum-start.yaml")
	pods := s.awaitWorking("store", 5)
	s.makeReady(pods[:2]...)
	s.awaitGroup("registry", 0, 2, 3)
	s.expectNonePlaced("registry")
	s.makeReady(pods[4])
	s.awaitWorking("registry", 2)
}

func TestSampleLeaderStartsFirst(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.applySample("leader-starts-first.yaml")
	leader := s.awaitWorking("leader", 1) // and it never becomes ready before its workers have come
	workers := s.awaitWorking("worker", 3)
	s.makeReady(workers[:2]...)
	s.expectNonePlaced("client")
	s.makeReady(workers[2])
	s.makeReady(s.awaitWorking("client", 1)...)
	s.makeReady(leader...)
	s.awaitPhase("ray", v1alpha1.PhaseCompleted)
}

func TestSampleReachableDatabase(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.applySample("reachable-database.yaml")
	pods := s.awaitWorking("db", 2)
	s.makeReady(pods...)
	s.operatorSays(pods[0], corev1.ConditionTrue)
	s.awaitGroup("reachable-shop", 0, 1, 2)
	s.expectNonePlaced("app")
	s.operatorSays(pods[1], corev1.ConditionTrue)
	s.awaitWorking("app", 1)
}

func TestSampleGPUWorkers(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	for _, name := range []string{"node-2", "node-3"} {
		s.giveGPUs(name)
	}
	s.awaitSeenByDaemonSets("nvidia.com/gpu.present", 2)
	s.applySample("gpu-workers.yaml")
	plugins := s.awaitWorking("device-plugin", 2)
	s.makeReady(plugins[0])
	s.awaitGroup("training", 0, 1, 2)
	s.expectNonePlaced("data", "worker", "dashboard")
	s.makeReady(plugins[1])
	shards := s.awaitWorking("data", 3)
	s.succeed(shards[0])
	s.succeed(shards[1])
	s.expectNonePlaced("worker", "dashboard")
	s.succeed(shards[2])
	workers := s.awaitWorking("worker", 4)
	s.makeReady(workers[:3]...)
	s.expectNonePlaced("dashboard")
	s.makeReady(workers[3])
	s.makeReady(s.awaitWorking("dashboard", 1)...)
	s.awaitPhase("training", v1alpha1.PhaseCompleted)
}

// giveGPUs makes the node one of two GPUs until the end of the test.
func (s *story) giveGPUs(name string) {
	s.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	set := func(label, count string) {
		merge := func(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }
		devices := `{"nvidia.com/gpu":` + count + `}`
		assert.NoError(s, s.API.Patch(context.Background(), node,
			merge(`{"metadata":{"labels":{"nvidia.com/gpu.present":`+label+`}}}`)))
		assert.NoError(s, s.API.Status().Patch(context.Background(), node,
			merge(`{"status":{"capacity":`+devices+`,"allocatable":`+devices+`}}`)))
	}
	set(`"true"`, `"2"`)
	s.Cleanup(func() { set("null", "null") })
}

// awaitSeenByDaemonSets waits until the controller of DaemonSets knows that so many nodes have a label. Until then it wants no pod there,
// and a group is satisfied with that.
func (s *story) awaitSeenByDaemonSets(label string, nodes int32) {
	s.Helper()
	set := s.daemonSet("seen", "seen")
	set.Spec.Template.Spec.NodeSelector = map[string]string{label: "true"}
	s.Create(set)
	s.Await("DaemonSets to want pods on nodes with "+label, func() bool {
		return cluster.Get(s.Story, &appsv1.DaemonSet{}, set.Name).Status.DesiredNumberScheduled == nodes
	})
	s.Delete(set)
}

// The last group has every pod of the namespace, so there is no room for a fence in it.
func TestSampleEverythingElseLast(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.applySample("everything-else-last.yaml")
	mesh := s.awaitWorking("mesh", 2)
	others := append(s.awaitWaiting("backend", 2), s.awaitWaiting("worker", 1)...)
	s.makeReady(mesh[0])
	s.awaitGroup("mesh-first", 0, 1, 2)
	for _, pod := range others {
		s.awaitHeldFor(pod, "group 1/2")
	}
	s.makeReady(mesh[1])
	s.awaitBound(others...)
	s.makeReady(others...)
	s.awaitPhase("mesh-first", v1alpha1.PhaseCompleted)
}

func TestSampleOrderedRollout(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	s.applySample("ordered-rollout.yaml")
	s.makeReady(s.awaitWorking("backend", 2)...)
	s.makeReady(s.awaitWorking("application", 2)...)
	s.awaitPhase("platform", v1alpha1.PhaseCompleted)
	rollOut := func(name string) {
		s.Patch(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}, newRevision)
	}
	rollOut("backend")
	first := s.awaitWorking("backend", 1)
	rollOut("application")
	waiting := s.awaitWaiting("application", 1)
	s.expectHeld(waiting...)
	s.makeReady(first...)
	s.makeReady(s.awaitWorking("backend", 1)...)
	s.awaitBound(waiting...)
}

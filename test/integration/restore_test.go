package integration

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
)

// A backup of a shop that was complete for long: the gates of its pods are lifted, and its status says that all groups are passed. Velero
// restores pods first, and custom resources after them.
func TestRestoredPodsWithTheLabelWaitForTheirSequence(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for name, test := range map[string]struct {
		gated      bool // the pods were created with gates, which have been lifted since
		withStatus []string
	}{
		"without status":                               {},
		"without the gates that they had":              {gated: true},
		"with the status of the sequence":              {withStatus: []string{cluster.PodSequences}},
		"without the gates, and with the status of it": {gated: true, withStatus: []string{cluster.PodSequences}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			pods := s.runShop(withLabel, test.gated)
			backup := s.BackUp()
			s.loseAll(backup)
			s.Restore(backup, cluster.Restore{
				WithStatus: test.withStatus, Modify: unready,
				Before: map[string]func(){cluster.PodSequences: func() { s.expectHeld(pods.all()...) }},
			})
			s.startRestored(pods)
			assert.Nil(t, s.getSequence("shop").Status.StartedOutOfOrder)
		})
	}
}

// Nothing holds such pods, so all start at once. What can be done is to say so.
func TestRestoredPodsThatStartTooEarlyAreReported(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for name, test := range map[string]struct {
		withStatus []string
		keepNodes  bool
	}{
		"without status":                  {},
		"with the status of the sequence": {withStatus: []string{cluster.PodSequences}},
		"with nodes":                      {keepNodes: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			pods := s.runShop(withoutLabel, false)
			backup := s.BackUp()
			s.loseAll(backup)
			s.Restore(backup, cluster.Restore{
				WithStatus: test.withStatus, KeepNodes: test.keepNodes, Modify: unready,
				Before: map[string]func(){cluster.PodSequences: func() { s.awaitBound(pods.all()...) }},
			})
			early := slices.Sorted(slices.Values(slices.Concat(pods.app, pods.web)))
			s.awaitCondition("shop", v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonStartedOutOfOrder)
			assert.Equal(t, &v1alpha1.StartedOutOfOrderStatus{Total: int32(len(early)), Pods: early}, s.getSequence("shop").Status.StartedOutOfOrder)
			assert.Equal(t, v1alpha1.PhaseInProgress, s.settledStatus("shop").Phase)

			// New pods wait, whatever has started.
			s.createPods(s.pod("another").Label("tier", "app"))
			s.expectHeld("another")
			s.makeReady(pods.all()...)
			s.awaitBound("another")
			s.makeReady("another")
			s.awaitPhase("shop", v1alpha1.PhaseCompleted)
			s.awaitCondition("shop", v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonStartedOutOfOrder)
		})
	}
}

// The list of priorities in docs/howto/backup-and-restore.md has this order.
func TestPodsStartInOrderWhenPodSequencesAreRestoredFirst(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for name, withStatus := range map[string][]string{"without status": nil, "with the status of the sequence": {cluster.PodSequences}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			pods := s.runShop(withoutLabel, false)
			backup := s.BackUp()
			s.loseAll(backup)
			s.Restore(backup, cluster.Restore{First: []string{cluster.PodSequences}, WithStatus: withStatus, Modify: unready})
			s.startRestored(pods)
			assert.Nil(t, s.getSequence("shop").Status.StartedOutOfOrder)
		})
	}
}

// A restore leaves objects alone that exist. So where only the pods were lost, the sequence is the same one, and as far as it was.
func TestRestoredPodsOfASequenceThatWasNotLost(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for name, deleted := range map[string]bool{"start at once": false, "start in order when the sequence is deleted first": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			pods := s.runShop(withLabel, false)
			backup := s.BackUp()
			lost := maps.Clone(backup)
			if !deleted {
				delete(lost, cluster.PodSequences)
			}
			s.loseAll(lost)
			s.Restore(backup, cluster.Restore{Modify: unready})
			if deleted {
				s.startRestored(pods)
			} else {
				s.awaitBound(pods.all()...)
			}
		})
	}
}

// shopPods are the names of the pods of a shop, by tier.
type shopPods struct{ db, app, web []string }

func (p shopPods) all() []string { return slices.Concat(p.db, p.app, p.web) }

var (
	withLabel    = map[string]string{v1alpha1.SequenceLabel: "shop"}
	withoutLabel = map[string]string{}
)

// runShop starts a database and an application of a Deployment each, and a bare pod, in order.
func (s *story) runShop(labels map[string]string, gated bool) (pods shopPods) {
	s.Helper()
	s.Create(s.sequence("shop").Group(tier("db")).Group(tier("app")).Pods("web", "web").Obj())
	for _, tier := range []string{"db", "app"} {
		deployment := s.deployment(tier, 2)
		for key, value := range labels {
			deployment.Spec.Template.Labels[key] = value
		}
		if gated {
			deployment.Spec.Template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.DefaultSchedulingGateName}}
		}
		s.Create(deployment)
	}
	s.createPods(s.pod("web").Labels(labels))
	pods.db = s.awaitWorking("db", 2)
	s.makeReady(pods.db...)
	pods.app = s.awaitWorking("app", 2)
	s.makeReady(pods.app...)
	s.awaitBound("web")
	s.makeReady("web")
	s.awaitPhase("shop", v1alpha1.PhaseCompleted)
	pods.web = []string{"web"}
	return pods
}

// loseAll deletes the objects of a backup, those that own others first.
func (s *story) loseAll(backup cluster.Backup) {
	s.Helper()
	for _, resource := range []string{cluster.PodSequences, "deployments.apps", "pods"} {
		for i := range backup[resource] {
			object := &backup[resource][i]
			err := s.API.Delete(s.Ctx, object, client.PropagationPolicy(metav1.DeletePropagationForeground))
			require.NoError(s, client.IgnoreNotFound(err))
			s.AwaitGone(object)
		}
	}
}

// unready makes no pod of a backup ready before the test says so.
func unready(resource string, object *unstructured.Unstructured) {
	if resource == "pods" {
		annotations := object.GetAnnotations()
		annotations[cluster.ReadyAfter] = "never"
		object.SetAnnotations(annotations)
	}
}

// startRestored sees the pods of a backup start in order. Their workloads adopt them and create no others.
func (s *story) startRestored(pods shopPods) {
	s.Helper()
	s.awaitBound(pods.db...)
	s.expectHeld(slices.Concat(pods.app, pods.web)...)
	s.makeReady(pods.db[0])
	s.expectHeld(slices.Concat(pods.app, pods.web)...)
	s.makeReady(pods.db[1])
	s.awaitBound(pods.app...)
	s.expectHeld(pods.web...)
	s.makeReady(pods.app...)
	s.awaitBound(pods.web...)
	s.makeReady(pods.web...)
	s.awaitPhase("shop", v1alpha1.PhaseCompleted)
	degraded := meta.FindStatusCondition(s.getSequence("shop").Status.Conditions, v1alpha1.ConditionDegraded)
	assert.Equal(s, metav1.ConditionFalse, degraded.Status, degraded.Message)

	var all corev1.PodList
	s.Await("all pods to have their owners", func() bool {
		assert.NoError(s, s.API.List(s.Ctx, &all, client.InNamespace(s.Namespace), client.HasLabels{"tier"}))
		return !slices.ContainsFunc(all.Items, func(p corev1.Pod) bool { return metav1.GetControllerOf(&p) == nil })
	})
	assert.Len(s, all.Items, len(pods.db)+len(pods.app), "the Deployments created no others")
}

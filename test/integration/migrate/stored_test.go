package migrate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

// refused are the sequences of testdata/stored.yaml that today's rules refuse, and what is said of them.
var refused = map[string]string{
	"no-spec":       "spec.podGroups must have 1 to 64 groups",
	"no-groups":     "spec.podGroups must have 1 to 64 groups",
	"first-release": "spec.podGroups must have 1 to 64 groups",
	"bad-wait":      "spec.podGroups[0].waitDuration",
	"negative-wait": "spec.podGroups[0].waitDuration",
	"both":          "spec.podGroups[0] must set exactly one of pods and podSelector",
	"neither":       "spec.podGroups[0] must set exactly one of pods and podSelector",
}

// complaint is what is said of a stored sequence: in its status, or, where the API server refuses to write that, in an event.
func (s *site) complaint(name string) string {
	s.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.PodSequenceKind)
	require.NoError(s, s.cluster.API.Get(s.ctx, client.ObjectKey{Namespace: "stored", Name: name}, object))
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	require.NoError(s, err)
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == v1alpha1.ConditionDegraded && c["reason"] == v1alpha1.ReasonInvalidSpec {
			return c["message"].(string)
		}
	}
	var events eventsv1.EventList
	require.NoError(s, s.cluster.API.List(s.ctx, &events, client.InNamespace("stored")))
	for _, e := range events.Items {
		if e.Regarding.Name == name && e.Reason == v1alpha1.ReasonInvalidSpec {
			return e.Note
		}
	}
	return ""
}

// The Pod Sequence Controller's definition allows what today's refuses. Such objects are there before PodSequence is installed.
func TestStoredPodSequencesThatTodaysRulesRefuseBlockNobody(t *testing.T) {
	t.Parallel()
	s := newSite(t, "default")
	s.apply("podsequencing-before.yaml")
	s.run("kubectl wait --for=condition=Established crd/podsequences.scheduling.example.com --timeout=2m")
	s.apply("stored.yaml")
	s.run("kubectl apply --server-side --force-conflicts -f install.yaml")
	s.startPrograms()

	for name, want := range refused {
		cluster.Await(t, name+" to be reported", func() bool { return s.complaint(name) != "" })
		assert.Contains(t, s.complaint(name), want, name)
	}
	t.Run("the others of the namespace go on", func(*testing.T) {
		s.awaitPods("stored", "first", "to start", 1, hasNode)
		s.awaitPods("stored", "second", "to start after it", 1, hasNode)
	})
	t.Run("those that order something hold what comes later", func(*testing.T) {
		s.awaitPods("stored", "after", "to be held", 1, func(p *corev1.Pod) bool { return cluster.IsHeld(p) && !hasNode(p) })
	})
	t.Run("nodeSelector in scope Cluster is ignored, as it was", func(t *testing.T) {
		s.awaitPods("stored", "selected", "to start", 2, hasNode)
		assert.Empty(t, s.complaint("node-selector"))
	})
	t.Run("new ones are refused", func(t *testing.T) {
		output, err := s.cluster.Shell(t, "kubectl create -f - <<<'{apiVersion: scheduling.example.com/v1alpha1, kind: PodSequence, metadata: {name: new, namespace: stored}}'")
		assert.Error(t, err)
		assert.Contains(t, output, "spec is required: say in spec.podGroups which pods start in which order")
	})
	t.Run("they can be deleted, and so can their namespace", func(*testing.T) {
		// The garbage collector has to change those that are deleted in the foreground.
		s.run("kubectl delete podseq --all -n stored --cascade=foreground --timeout=3m")
		s.run("kubectl delete namespace stored --timeout=5m")
	})
}

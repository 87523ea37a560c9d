package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// Sequences may have been stored when the definition of their kind allowed more than it does today.
func TestSequencesThatCannotBeRead(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	env := exclusively(t)
	ours := []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController}
	for _, program := range ours {
		require.NoError(t, env.Kill(t.Context(), program))
	}
	broken := newStoryIn(t, env)
	broken.unjudged = true
	restore := broken.AllowAnything("podsequences.scheduling.example.com", broken.stored("refused", `{podGroups: many}`))
	for name, spec := range map[string]string{
		"text":     `shop`,
		"no-list":  `{podGroups: db}`,
		"no-names": `{podGroups: [{pods: [db]}, {name: Application, pods: app}, {pods: [web]}]}`,
		"no-gate":  `{schedulingGateName: [a], podGroups: [{pods: [one]}, {pods: [two]}]}`,
		"empty":    `{podGroups: []}`,
	} {
		broken.AwaitCreated(broken.stored(name, spec))
	}
	restore()
	for _, program := range ours {
		require.NoError(t, env.StartComponent(t.Context(), program))
	}

	t.Run("others are not affected", func(t *testing.T) {
		s := newStoryIn(t, env)
		s.Create(s.threeTiers().Obj())
		s.createPods(s.pod("web"), s.gated("app").SchedulerName(stockScheduler), s.gated("db"))
		s.startInOrder()
	})
	t.Run("they are reported", func(t *testing.T) {
		for name, want := range map[string]string{
			"text":     "spec: must be an object",
			"no-list":  "spec.podGroups: must be a list",
			"no-names": "spec.podGroups[1]: ",
			"no-gate":  "spec.schedulingGateName: ",
			"empty":    "spec.podGroups must have 1 to 64 groups",
		} {
			broken.Await(name+" to be reported", func() bool { return broken.reportOf(name) != "" })
			assert.Contains(t, broken.reportOf(name), want, name)
		}
	})
	t.Run("what can be read of one is held, until it is fixed", func(t *testing.T) {
		s := broken
		s.createPods(s.pod("db"), s.pod("web"), s.gated("app"), s.pod("one"), s.pod("two"))
		s.awaitBound("db", "one")
		s.makeReady("db", "one")
		s.awaitHeldFor("web", "its pass cannot be recorded")
		s.expectHeld("web", "app", "two")

		cluster.Change(s.Story, s.unstructured("no-names"), func(object *unstructured.Unstructured) {
			second := object.Object["spec"].(map[string]any)["podGroups"].([]any)[1].(map[string]any)
			require.NoError(s, unstructured.SetNestedStringSlice(second, []string{"app"}, "pods"))
		})
		s.awaitBound("app")
		s.expectHeld("web", "two")
		s.makeReady("app")
		s.awaitBound("web")
	})
}

// reportOf is what is said to be wrong with a stored sequence: in its status, or, where the API server refuses to write
// that, in an event.
func (s *story) reportOf(name string) string {
	s.Helper()
	conditions, _, err := unstructured.NestedSlice(s.unstructured(name).Object, "status", "conditions")
	require.NoError(s, err)
	for _, c := range conditions {
		condition := c.(map[string]any)
		if condition["type"] == v1alpha1.ConditionDegraded && condition["reason"] == v1alpha1.ReasonInvalidSpec {
			return condition["message"].(string)
		}
	}
	var events eventsv1.EventList
	require.NoError(s, s.API.List(s.Ctx, &events, client.InNamespace(s.Namespace)))
	for _, e := range events.Items {
		if e.Regarding.Name == name && e.Reason == v1alpha1.ReasonInvalidSpec && e.Type == corev1.EventTypeWarning {
			s.Logf("%s is told of by an event", name)
			return e.Note
		}
	}
	return ""
}

func (s *story) unstructured(name string) *unstructured.Unstructured {
	s.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.PodSequenceKind)
	require.NoError(s, s.API.Get(s.Ctx, types.NamespacedName{Namespace: s.Namespace, Name: name}, object))
	return object
}

// stored is a PodSequence with whatever spec.
func (s *story) stored(name, spec string) *unstructured.Unstructured {
	s.Helper()
	var content any
	require.NoError(s, yaml.Unmarshal([]byte(spec), &content))
	object := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	object.SetGroupVersionKind(v1alpha1.PodSequenceKind)
	object.SetNamespace(s.Namespace)
	object.SetName(name)
	return object
}

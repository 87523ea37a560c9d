package sequentialjob

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
)

// Objects may have been stored when the definition allowed more than it does today.
func TestObjectsThatTodaysRulesWouldRefuse(t *testing.T) {
	s := newStoryOfVictims(t)
	broken := map[string]struct {
		spec string
		want string
	}{
		"no-steps":      {`{containers: []}`, "spec.containers: there must be 1 to 64 steps, not 0"},
		"no-image":      {`{containers: [{name: a}]}`, "spec.containers[0].image: is required"},
		"twice":         {`{containers: [{name: a, image: i}, {name: a, image: i}]}`, `spec.containers[1].name: "a" is used twice`},
		"always":        {`{containers: [{name: a, image: i}], template: {spec: {restartPolicy: Always}}}`, "must be Never or OnFailure"},
		"no-spec":       {``, "spec.containers: there must be 1 to 64 steps, not 0"},
		"upper-case":    {`{containers: [{name: Extract, image: i}]}`, `spec.containers[0].name: "Extract": `},
		"both-lists":    {`{containers: [{name: a, image: i}], template: {spec: {containers: [{name: b, image: i}]}}}`, "spec.template.spec.containers: must be left out"},
		"not-decodable": {`{containers: [{name: a, image: i}], backoffLimit: few}`, "the object cannot be decoded"},
	}
	const unwritable = "unwritable" // the API server refuses to write even its status
	s.WhileControllerDown(func() {
		restore := s.AllowAnything("sequentialjobs.batch.example.com", s.fromYAML("refused", `{containers: "many"}`))
		for name, object := range broken {
			s.AwaitCreated(s.fromYAML(name, object.spec))
		}
		s.AwaitCreated(s.fromYAML(unwritable, `{containers: many}`))
		restore()
	})

	s.fence() // the others are not kept waiting
	for name, object := range broken {
		stored := &unstructured.Unstructured{}
		stored.SetGroupVersionKind(v1alpha1.SequentialJobKind)
		status := func(field ...string) string {
			require.NoError(t, s.API.Get(s.Ctx, s.Key(name), stored))
			value, _, err := unstructured.NestedString(stored.Object, append([]string{"status"}, field...)...)
			require.NoError(t, err)
			return value
		}
		s.Await(name+" to have failed", func() bool { return status("phase") == string(v1alpha1.PhaseFailed) })
		assert.Equal(t, v1alpha1.ReasonInvalidSpec, status("progress", "failureReason"))
		assert.Contains(t, status("message"), object.want)
	}
	s.Await("an event that tells of the other", func() bool {
		var events eventsv1.EventList
		require.NoError(t, s.API.List(s.Ctx, &events, client.InNamespace(s.Namespace)))
		return slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool {
			return e.Regarding.Name == unwritable && e.Reason == v1alpha1.ReasonInvalidSpec
		})
	})
}

func TestAStepRunsOfAnObjectThatCannotBeDecodedAnyMore(t *testing.T) {
	s := newStoryOfVictims(t)
	s.Create(s.steps("etl", 3))
	s.complete("etl", 0)
	s.awaitRunning("etl", 1)
	s.Await("status to say so", func() bool { return s.get("etl").Status.Step == "2/3" })
	stored := s.fromYAML("etl", "{}")
	s.WhileControllerDown(func() {
		restore := s.AllowAnything("sequentialjobs.batch.example.com", s.fromYAML("refused", `{containers: "many"}`))
		s.Await("the object to be changed", func() bool {
			return s.API.Patch(s.Ctx, stored, cluster.Merge(s, `{"spec":{"backoffLimit":"few"}}`)) == nil
		})
		restore()
	})

	s.Await("the object to have failed", func() bool {
		require.NoError(t, s.API.Get(s.Ctx, s.Key("etl"), stored))
		phase, _, err := unstructured.NestedString(stored.Object, "status", "phase")
		return err == nil && phase == string(v1alpha1.PhaseFailed)
	})
	completed, _, err := unstructured.NestedSlice(stored.Object, "status", "progress", "completedIndices")
	require.NoError(t, err)
	assert.Equal(t, []any{int64(0)}, completed)
	step, _, err := unstructured.NestedString(stored.Object, "status", "step")
	require.NoError(t, err)
	assert.Equal(t, "2/3", step)
	assert.True(t, s.hasFailedAtDeadline("etl-1"), "its Job is stopped")
	assert.Empty(t, s.pods("etl", 1))
	s.expectNoJob("etl-2")
}

package integration

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
)

// Names that today's definition refuses may have been stored by an earlier one. They stay, also in an object that is changed, but no
// group gets such a name any more.
func TestStoredNamesOfGroupsThatAreRefusedToday(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := newStory(t)
	earlier := readEarlierDefinitions(t, "podsequences")
	latest := earlier[slices.IndexFunc(earlier, func(d earlierDefinition) bool { return d.Since == "624fb37" })] // that allowed them
	definition := versionedDefinition(t, storedKinds["podsequences"].definition, s.Namespace+".example.com", []earlierDefinition{latest})
	require.NoError(t, s.API.Create(s.Ctx, definition))
	t.Cleanup(func() { assert.NoError(t, s.API.Delete(s.Ctx, definition)) })

	sequence := func(version string) *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetGroupVersionKind(schema.GroupVersionKind{Group: definition.Spec.Group, Version: version, Kind: v1alpha1.PodSequenceKind.Kind})
		object.SetNamespace(s.Namespace)
		object.SetName("shop")
		return object
	}
	var spec map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(`{podGroups: [{pods: [a]}, {name: Group 1, pods: [b]}, {name: "a\nb", pods: [c]}, {name: d, pods: [d]}]}`), &spec))
	stored := sequence(latest.version())
	stored.Object["spec"] = spec
	cluster.Await(t, "the definition to be served", func() bool { return s.API.Create(s.Ctx, stored) == nil })

	for _, test := range []struct{ what, patch, want string }{
		{what: "suspended", patch: `[{"op": "add", "path": "/spec/suspend", "value": true}]`},
		{what: "skipped", patch: `[{"op": "add", "path": "/spec/podGroups/1/skip", "value": true}]`},
		{what: "a group more", patch: `[{"op": "add", "path": "/spec/podGroups/-", "value": {"name": "e", "pods": ["e"]}}]`},
		{what: "other groups removed", patch: `[{"op": "remove", "path": "/spec/podGroups/3"}]`},
		{
			what: "another group with a name that two have", patch: `[{"op": "replace", "path": "/spec/podGroups/3/name", "value": "Group 1"}]`,
			want: "names in podGroups must differ",
		},
		{
			what: "another name that two have", patch: `[{"op": "add", "path": "/spec/podGroups/-", "value": {"name": "d", "pods": ["e"]}}]`,
			want: "names in podGroups must differ",
		},
		{
			what: "another control character", patch: `[{"op": "replace", "path": "/spec/podGroups/3/name", "value": "a\nc"}]`,
			want: "podGroups[].name must not contain control characters",
		},
	} {
		err := s.API.Patch(s.Ctx, sequence(v1alpha1.GroupVersion.Version), client.RawPatch(types.JSONPatchType, []byte(test.patch)), client.DryRunAll)
		if test.want == "" {
			assert.NoError(t, err, test.what)
		} else {
			assert.ErrorContains(t, err, test.want, test.what)
		}
	}
}

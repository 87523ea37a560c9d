package spec

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func TestRead(t *testing.T) {
	tests := map[string]struct {
		stored         string
		wantSpec       v1alpha1.PodSequenceSpec
		wantUnreadable []Unreadable // messages by their beginnings
	}{
		"what makes sense is read as it is": {
			stored:   `{spec: {schedulingGateName: g, podGroups: [{pods: [a]}]}}`,
			wantSpec: v1alpha1.PodSequenceSpec{SchedulingGateName: "g", PodGroups: []v1alpha1.PodGroup{{Pods: []string{"a"}}}},
		},
		"no spec at all is an empty one": {
			stored: `{}`,
		},
		"a spec that is text": {
			stored: `{spec: shop}`, wantUnreadable: []Unreadable{{0, "spec: is no object"}},
		},
		"groups that are no list": {
			stored: `{spec: {scope: Cluster, podGroups: {pods: [a]}}}`, wantSpec: v1alpha1.PodSequenceSpec{Scope: "Cluster"},
			wantUnreadable: []Unreadable{{0, "spec.podGroups: is no list"}},
		},
		"a group that is none keeps its place": {
			stored: `{spec: {podGroups: [{pods: [a]}, b, {pods: [c]}]}}`,
			wantSpec: v1alpha1.PodSequenceSpec{
				PodGroups: []v1alpha1.PodGroup{{Pods: []string{"a"}}, {}, {Pods: []string{"c"}}},
			},
			wantUnreadable: []Unreadable{{1, "spec.podGroups[1]: is no object"}},
		},
		"a group of which a part cannot be read keeps its name and no member": {
			stored:         `{spec: {podGroups: [{name: One, pods: [a, 5]}]}}`,
			wantSpec:       v1alpha1.PodSequenceSpec{PodGroups: []v1alpha1.PodGroup{{Name: "One"}}},
			wantUnreadable: []Unreadable{{0, "spec.podGroups[0]: "}},
		},
		"a field of the spec does not take the groups with it": {
			stored: `{spec: {scope: [Cluster], podGroups: [{pods: [a]}, {pods: [b]}]}}`,
			wantSpec: v1alpha1.PodSequenceSpec{
				PodGroups: []v1alpha1.PodGroup{{Pods: []string{"a"}}, {Pods: []string{"b"}}},
			},
			wantUnreadable: []Unreadable{{0, "spec.scope: "}},
		},
		"a namespace and a gate that cannot be read do not become the default": {
			stored:         `{spec: {namespace: [shop], schedulingGateName: 7, podGroups: []}}`,
			wantSpec:       v1alpha1.PodSequenceSpec{Namespace: "[shop]", SchedulingGateName: "7", PodGroups: []v1alpha1.PodGroup{}},
			wantUnreadable: []Unreadable{{0, "spec.namespace: "}, {0, "spec.schedulingGateName: "}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := map[string]any{}
			require.NoError(t, yaml.Unmarshal([]byte(test.stored), &object))
			object["metadata"] = map[string]any{"namespace": "shop", "name": "backend", "uid": "u", "generation": int64(3)}
			shopMetadata := metav1.ObjectMeta{Namespace: "shop", Name: "backend", UID: "u", Generation: 3}
			stored := Read(object)
			assert.Equal(t, shopMetadata, stored.ObjectMeta)
			assert.Equal(t, test.wantSpec, stored.Spec)
			require.Len(t, stored.Unreadable, len(test.wantUnreadable))
			for i, want := range test.wantUnreadable {
				assert.Equal(t, want.Group, stored.Unreadable[i].Group)
				assert.Contains(t, stored.Unreadable[i].Message, want.Message)
			}
		})
	}
	t.Run("a status that cannot be read is as good as none, and keeps nothing else from being read", func(t *testing.T) {
		stored := Read(map[string]any{
			"metadata": map[string]any{"name": "backend"}, "status": "done",
			"spec": map[string]any{"podGroups": []any{map[string]any{"pods": []any{"a"}}}},
		})
		assert.Empty(t, stored.Unreadable)
		assert.Empty(t, stored.Status)
		assert.Len(t, stored.Spec.PodGroups, 1)
	})
	t.Run("records of passes are read though the spec cannot be", func(t *testing.T) {
		stored := Read(map[string]any{
			"metadata": map[string]any{"name": "backend"}, "spec": "shop",
			"status": map[string]any{"groups": []any{map[string]any{"name": "One", "hash": "h"}}},
		})
		require.Len(t, stored.Status.Groups, 1)
		assert.Equal(t, "h", stored.Status.Groups[0].Hash)
	})
}

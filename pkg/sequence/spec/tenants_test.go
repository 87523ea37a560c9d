package spec

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func TestWhichSelectorsMayReachNamespacesOfSeveralTeams(t *testing.T) {
	for selector, want := range map[string]bool{
		`{}`:                         true,
		`{matchLabels: {team: red}}`: false,
		`{matchExpressions: [{key: team, operator: In, values: [red]}]}`:                                false,
		`{matchExpressions: [{key: team, operator: In, values: [red, blue]}]}`:                          true,
		`{matchExpressions: [{key: team, operator: Exists}]}`:                                           true,
		`{matchExpressions: [{key: team, operator: NotIn, values: [red]}]}`:                             true,
		`{matchExpressions: [{key: team, operator: DoesNotExist}]}`:                                     true,
		`{matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [a, b]}]}`:        false,
		`{matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [a]}]}`:        true,
		`{matchExpressions: [{key: tier, operator: Exists}, {key: team, operator: In, values: [red]}]}`: false,
	} {
		var namespaces v1alpha1.LabelSelector
		require.NoError(t, yaml.Unmarshal([]byte(selector), &namespaces))
		assert.Equal(t, want, OpenToTenants(&namespaces), selector)
	}
	assert.False(t, OpenToTenants(nil))
}

func TestWhichGroupsAreOpenToTenants(t *testing.T) {
	const open, closed = `namespaceSelector: {}`, `namespaces: [platform]`
	tests := map[string]struct {
		spec string
		want []int
	}{
		"the first of two":               {`podGroups: [{` + open + `, podSelector: {}}, {` + closed + `, podSelector: {}}]`, []int{0}},
		"the last of two":                {`podGroups: [{` + closed + `, podSelector: {}}, {` + open + `, podSelector: {}}]`, nil},
		"two of three":                   {`podGroups: [{` + open + `, podSelector: {}}, {` + open + `, podSelector: {}}, {` + closed + `, podSelector: {}}]`, []int{0, 1}},
		"skipped":                        {`podGroups: [{skip: true, ` + open + `, podSelector: {}}, {` + closed + `, podSelector: {}}]`, nil},
		"nobody waits for it":            {`podGroups: [{` + open + `, podSelector: {}}, {dependsOn: [], ` + closed + `, podSelector: {}}]`, nil},
		"in a dry run":                   {`{dryRun: true, podGroups: [{` + open + `, podSelector: {}}, {` + closed + `, podSelector: {}}]}`, nil},
		"suspended in a dry run":         {`{dryRun: true, suspend: true, podGroups: [{` + open + `, podSelector: {}}, {` + closed + `, podSelector: {}}]}`, []int{0}},
		"on each node":                   {`{scope: Node, podGroups: [{` + open + `, podSelector: {}}, {` + closed + `, podSelector: {}}]}`, []int{0}},
		"every group by names":           {`podGroups: [{` + closed + `, podSelector: {}}, {` + closed + `, podSelector: {}}]`, nil},
		"a spec that makes no sense too": {`podGroups: [{` + open + `, namespaces: [a], podSelector: {}}, {` + closed + `, podSelector: {}}]`, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var spec map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(test.spec), &spec))
			s := Compile(ReadCluster(map[string]any{"metadata": map[string]any{"name": "a", "uid": "a"}, "spec": spec}), nil)
			var got []int
			for i := range s.OpenToTenants().All() {
				got = append(got, i)
			}
			assert.Equal(t, test.want, got)
		})
	}
}

package lint

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
		assert.Equal(t, want, isOpenToTenants(&namespaces), selector)
	}
	assert.False(t, isOpenToTenants(nil))
}

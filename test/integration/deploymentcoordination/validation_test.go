package deploymentcoordination

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/podsequence/apis/apps/v1"
)

func TestValidation(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	expression := func(e v1.LabelSelectorRequirement) func(*v1.DeploymentCoordinationSpec) {
		return func(spec *v1.DeploymentCoordinationSpec) {
			spec.LabelSelector.MatchExpressions = []v1.LabelSelectorRequirement{e}
		}
	}
	for name, tc := range map[string]struct {
		edit func(*v1.DeploymentCoordinationSpec)
		want string // part of the message; accepted if empty
	}{
		"a selector is enough": {edit: func(*v1.DeploymentCoordinationSpec) {}},
		"an empty selector matches everything": {
			edit: func(spec *v1.DeploymentCoordinationSpec) { spec.LabelSelector = &v1.LabelSelector{} },
		},
		"a negative time": {edit: minReady(-1), want: "spec.minReadySeconds"},
		"no time at all":  {edit: timeout(0, v1.TimeoutSkip), want: "spec.rolloutTimeoutSeconds"},
		"an unknown policy": {
			edit: func(spec *v1.DeploymentCoordinationSpec) { spec.OnTimeout = "Retry" }, want: `supported values: "Halt", "Skip"`,
		},
		"an operator that needs values": {
			edit: expression(v1.LabelSelectorRequirement{Key: "app", Operator: v1.LabelSelectorOpIn}), want: "values must be non-empty",
		},
		"a key that is none": {
			edit: expression(v1.LabelSelectorRequirement{Key: "a b", Operator: v1.LabelSelectorOpExists}), want: "must be a label key",
		},
		"a value that is none": {
			edit: func(spec *v1.DeploymentCoordinationSpec) { spec.LabelSelector.MatchLabels["app"] = "a b" }, want: "must be a label value",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.coordination("shop", tc.edit)
			err := s.API.Create(s.Ctx, c, client.DryRunAll)
			if tc.want != "" {
				assert.ErrorContains(t, err, tc.want)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, v1.TimeoutHalt, c.Spec.OnTimeout, "the default")
		})
	}
}

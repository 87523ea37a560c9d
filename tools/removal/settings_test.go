package removal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSchedulerNamesAreThoseOfTheController(t *testing.T) {
	const controller = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: podsequence-controller, labels: {app.kubernetes.io/name: podsequence, app.kubernetes.io/component: controller}}
spec: {template: {spec: {containers: [{name: podsequence-controller, args: [ARGS]}]}}}
---`
	for name, tc := range map[string]struct {
		manifests string
		want      []string
	}{
		"by the flag":                            {strings.Replace(controller, "ARGS", "--v=2, --scheduler-names=in-order", 1), []string{"in-order"}},
		"the default ones without the flag":      {strings.Replace(controller, "ARGS", "--v=2", 1), []string{"podsequence-scheduler"}},
		"the default ones in lite mode":          {strings.Replace(controller, "ARGS", "--scheduler-names=", 1), []string{"podsequence-scheduler"}},
		"the default ones without its manifest":  {"{apiVersion: v1, kind: Namespace, metadata: {name: podsequence-system}}", []string{"podsequence-scheduler"}},
		"not that of the cluster, which returns": {strings.Replace(controller, "ARGS", `"--scheduler-names=default-scheduler,podsequence-scheduler"`, 1), []string{"podsequence-scheduler"}},
		"those of two installations together": {
			strings.Replace(controller, "ARGS", "", 1) + strings.Replace(controller, "ARGS", "--scheduler-names=in-order", 1),
			[]string{"in-order", "podsequence-scheduler"}},
		"not those of another program": {
			strings.Replace(strings.Replace(controller, "ARGS", "--scheduler-names=other", 1), "component: controller", "component: scheduler", 1),
			[]string{"podsequence-scheduler"}},
	} {
		t.Run(name, func(t *testing.T) {
			manifests, err := ReadObjects(strings.NewReader(tc.manifests))
			require.NoError(t, err)
			assert.Equal(t, tc.want, ControllerFlag(manifests, "--scheduler-names", []string{"podsequence-scheduler"}))
		})
	}
}

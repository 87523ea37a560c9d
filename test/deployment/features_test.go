package deployment

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/internal/controlplane"
)

const podSequences = "podsequence"

// features are what can be left out.
var features = map[string]struct {
	// run has the feature do all that it does.
	run func(t *testing.T, namespace string)
	// own are the permissions on resources that no other feature needs.
	own []string
	// definition of its kind, if it has one.
	definition string
}{
	podSequences: {
		run: runSequence, definition: "podsequences.scheduling.example.com",
		own: []string{" podsequences", " patch pods/status", " namespaces", " nodes", " replicationcontrollers", " daemonsets.apps"},
	},
	"sequentialjob": {
		run: runSteps, definition: "sequentialjobs.batch.example.com",
		own: []string{" sequentialjobs", " create jobs.batch", " patch jobs.batch", " delete jobs.batch", " get jobs.batch"},
	},
	"podgroup": {run: runGroup},
	"deploymentcoordination": {
		run: rollOutInTurn, definition: "deploymentcoordinations.apps.containerinfra.nl",
		own: []string{" deploymentcoordinations", " patch deployments.apps"},
	},
}

// Each feature is left out once, and is there once without those.
func TestAFeatureThatIsLeftOutTakesItsPermissionsWithIt(t *testing.T) {
	for _, without := range [][]string{
		{podSequences, "sequentialjob"}, // DeploymentCoordinations then have nobody to ask what holds pods
		{"podgroup", "deploymentcoordination"},
	} {
		t.Run("without "+strings.Join(without, " and "), func(t *testing.T) {
			options := controlplane.Options{Without: without, ExtraArgs: map[string][]string{controlplane.APIServer: withPodGroups}}
			if slices.Contains(without, podSequences) { // there is nothing to schedule by
				options.Components = append(controlplane.UpstreamComponents(), controlplane.PodSequenceController)
			}
			startCluster(t, options)
			ns := newNamespace(t)
			for name, feature := range features {
				if !slices.Contains(without, name) {
					feature.run(t, ns)
				}
			}
			readMetrics(t, ns, ourPrograms(t)...)
			var excused []string
			if slices.Contains(without, "podgroup") && !slices.Contains(without, podSequences) {
				installCoscheduling(t)
				awaitPodGroupWatches(t)
				for _, kind := range podGroupKinds { // only the pod group controller asks about one PodGroup
					excused = append(excused, "podsequence-controller: list "+kind)
				}
			}

			expectGrantsAreUsed(t, excused...)
			for _, name := range without {
				expectNothingOf(t, name)
			}
		})
	}
}

// ourPrograms are those of our programs that the cluster runs.
func ourPrograms(t *testing.T) []string {
	t.Helper()
	components, err := cluster.Status(t.Context())
	require.NoError(t, err)
	var programs []string
	for _, c := range components {
		if c.Name == controlplane.PodSequenceScheduler || c.Name == controlplane.PodSequenceController {
			programs = append(programs, c.Name)
		}
	}
	return programs
}

func expectNothingOf(t *testing.T, feature string) {
	t.Helper()
	for _, g := range append(grantsOf(t, "controller"), grantsOf(t, "scheduler")...) {
		for _, own := range features[feature].own {
			assert.NotContains(t, g.String(), own, "granted without %s", feature)
		}
	}
	role := client.ObjectKey{Name: "podsequence-controller-" + feature}
	assert.True(t, apierrors.IsNotFound(api.Get(t.Context(), role, &rbacv1.ClusterRole{})), "the ClusterRole is there")
	assert.True(t, apierrors.IsNotFound(api.Get(t.Context(), role, &rbacv1.ClusterRoleBinding{})), "the ClusterRoleBinding is there")
	if definition := features[feature].definition; definition != "" {
		err := api.Get(t.Context(), client.ObjectKey{Name: definition}, &apiextensionsv1.CustomResourceDefinition{})
		assert.True(t, apierrors.IsNotFound(err), "the kind is there")
	}
}

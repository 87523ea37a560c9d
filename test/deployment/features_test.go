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

	"example.com/podsequence/tools/sandbox/controlplane"
)

const podSequences = "podsequence"

// features are what can be left out.
var features = map[string]struct {
	// run makes the feature do all that it does.
	run func(s *site, namespace string)
	// own are the permissions on resources that no other feature needs.
	own []string
	// definition of its kind, if it has one.
	definition string
}{
	podSequences: {
		run: runSequence, definition: "podsequences.scheduling.example.com",
		own: []string{" podsequences", " clusterpodsequences", " patch pods/status", " namespaces", " nodes", " replicationcontrollers", " daemonsets.apps"},
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
	t.Parallel()
	for _, without := range [][]string{
		{podSequences, "sequentialjob"}, // DeploymentCoordinations then have nobody to ask what holds pods
		{"podgroup", "deploymentcoordination"},
	} {
		t.Run("without "+strings.Join(without, " and "), func(t *testing.T) {
			t.Parallel()
			options := controlplane.Options{Without: without, ExtraArgs: map[string][]string{controlplane.APIServer: withPodGroups()}}
			if slices.Contains(without, podSequences) { // there is nothing to schedule by
				options.Components = append(controlplane.UpstreamComponents(), controlplane.PodSequenceController)
			}
			s := ownSite(t, options)
			ns := newNamespace(s)
			for name, feature := range features {
				if !slices.Contains(without, name) {
					feature.run(s, ns)
				}
			}
			served := readMetrics(s, ns, ourPrograms(s)...)[controlplane.PodSequenceController]
			if slices.Contains(without, podSequences) {
				assert.NotContains(s, served, "podsequence_engine_synced", "no engine runs, and an alert would say that it is not synced")
				assert.Contains(s, served, "\npodsequence_scheduler_expected 0\n")
			} else {
				assert.Contains(s, served, "\npodsequence_scheduler_expected 1\n")
			}
			expectGrantsAreUsed(s)
			for _, name := range without {
				expectNothingOf(s, name)
			}
		})
	}
}

// ourPrograms are those of our programs that the cluster runs.
func ourPrograms(s *site) []string {
	s.Helper()
	components, err := s.cluster.Status(s.Context())
	require.NoError(s, err)
	var programs []string
	for _, c := range components {
		if c.Name == controlplane.PodSequenceScheduler || c.Name == controlplane.PodSequenceController {
			programs = append(programs, c.Name)
		}
	}
	return programs
}

func expectNothingOf(s *site, feature string) {
	s.Helper()
	for _, g := range append(grantsOf(s, "controller"), grantsOf(s, "scheduler")...) {
		for _, own := range features[feature].own {
			assert.NotContains(s, g.String(), own, "granted without %s", feature)
		}
	}
	role := client.ObjectKey{Name: "podsequence-controller-" + feature}
	assert.True(s, apierrors.IsNotFound(s.cluster.API.Get(s.Context(), role, &rbacv1.ClusterRole{})), "the ClusterRole is there")
	assert.True(s, apierrors.IsNotFound(s.cluster.API.Get(s.Context(), role, &rbacv1.ClusterRoleBinding{})), "the ClusterRoleBinding is there")
	if definition := features[feature].definition; definition != "" {
		err := s.cluster.API.Get(s.Context(), client.ObjectKey{Name: definition}, &apiextensionsv1.CustomResourceDefinition{})
		assert.True(s, apierrors.IsNotFound(err), "the kind is there")
	}
}

package permissionsdoc

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../../../"

func TestTheListOfPermissionsIsUpToDate(t *testing.T) {
	page, err := os.ReadFile(root + "docs/permissions.md")
	require.NoError(t, err)
	want, err := update(root+"manifests", string(page))
	require.NoError(t, err)
	assert.Equal(t, want, string(page), "run make generate")
}

func TestTheListHasWhatEachRoleAllows(t *testing.T) {
	page, err := update(root+"manifests", begin+end)
	require.NoError(t, err)
	_, scheduler, _ := strings.Cut(page, "**podsequence-scheduler**")
	scheduler, controller, _ := strings.Cut(scheduler, "**podsequence-controller**")
	for _, row := range []string{
		"| `podsequence-scheduler` | everywhere | patch | `pods` |",
		"| `podsequence-scheduler` | `podsequence-system` | get, update | `leases.coordination.k8s.io`: only `podsequence-scheduler` |",
		"| `system:kube-scheduler` | everywhere | create | `subjectaccessreviews.authorization.k8s.io` |",
		"| `system:kube-scheduler` | everywhere | create, patch, update | `events`, `events.events.k8s.io` |",
		"`leasecandidates.coordination.k8s.io` |",
		"| `extension-apiserver-authentication-reader` | `kube-system` |",
	} {
		assert.Contains(t, scheduler, row)
	}
	for _, row := range []string{
		"| `podsequence-controller` | everywhere | create, patch | `events.events.k8s.io` |",
		"| `podsequence-controller` | everywhere | create | `subjectaccessreviews.authorization.k8s.io` |",
		"| `podsequence-controller-nodes` | everywhere; not in lite mode | list, watch | `nodes` |",
	} {
		assert.Contains(t, controller, row)
	}
}

func TestNothingReadsSecrets(t *testing.T) {
	grants, err := read(root + "manifests")
	require.NoError(t, err)
	for program, all := range grants {
		for _, g := range all {
			for _, rule := range g.rules {
				for _, resource := range []string{"secrets", "*"} {
					assert.False(t, slices.Contains(rule.Resources, resource), "%s by %s: %s", program, g.role, resource)
				}
				assert.NotContains(t, rule.APIGroups, "*", "%s by %s", program, g.role)
				assert.NotContains(t, rule.Verbs, "*", "%s by %s", program, g.role)
			}
		}
	}
}

func TestAPageWithoutThePlaceIsRefused(t *testing.T) {
	for _, page := range []string{"", begin, end, end + begin} {
		_, err := update(root+"manifests", page)
		assert.ErrorContains(t, err, "the page lacks the lines")
	}
}

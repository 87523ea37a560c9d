package apidoc

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheReferenceIsUpToDate(t *testing.T) {
	want, err := Page("../../../manifests/crds")
	require.NoError(t, err)
	page, err := os.ReadFile("../../../docs/api.md")
	require.NoError(t, err)
	require.True(t, want == string(page), "docs/api.md is out of date: run make generate")
	var kinds []string
	for _, heading := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(want, -1) {
		kinds = append(kinds, heading[1])
	}
	assert.Equal(t, []string{"PodSequence", "ClusterPodSequence", "SequentialJob", "DeploymentCoordination"}, kinds)
	for i, row := range strings.Split(want, "\n") {
		if strings.HasPrefix(row, "| `") {
			assert.Regexp(t, `\| [^|]*[A-Za-z].* \|$`, row, "line %d says nothing", i+1)
		}
	}
}

// Descriptions are plain text. Of "'_' or '.'", twice in a line, Markdown would drop the underscores.
func TestDescriptionsAreShownAsTheyAre(t *testing.T) {
	assert.Equal(t, `letters, '\_', '\*' or "Group \<n>"`, prose("letters,\n'_', '*' or \"Group <n>\""))
	page, err := Page("../../../manifests/crds")
	require.NoError(t, err)
	assert.NotContains(t, page, "'_'")
	assert.NotContains(t, page, `"Group <n>"`)
}

package docs

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/test/harness/conditions"
)

// Whoever reads conditions looks them up in one place: it has all that the code knows, and nothing else. That objects have them with these
// reasons is checked wherever tests use test/harness/conditions.
func TestTheTablesOfConditionsHaveAllOfTheCode(t *testing.T) {
	for heading, kind := range map[string]struct {
		folder string
		// elsewhere are reasons that no condition of the kind has.
		elsewhere []string
	}{
		conditions.OfSequences:      {folder: "apis/scheduling/v1alpha1", elsewhere: []string{"WaitingForPodSequence"}}, // of a pod
		conditions.OfSequentialJobs: {folder: "apis/batch/v1alpha1"},
		conditions.OfCoordinations:  {folder: "apis/apps/v1"},
	} {
		t.Run(heading, func(t *testing.T) {
			var types, reasons []string
			for place, value := range stringConstants(t, filepath.Join(root, kind.folder)) {
				_, name, _ := strings.Cut(place, " ")
				switch {
				case strings.HasPrefix(name, "Condition"):
					types = append(types, value)
				case strings.HasPrefix(name, "Reason") && !slices.Contains(kind.elsewhere, value):
					reasons = append(reasons, value)
				}
			}
			var listed, explained []string
			for _, row := range conditions.Table(t, heading) {
				listed = append(listed, row.Type)
				explained = append(append(explained, row.True...), row.False...)
				assert.NotEmpty(t, row.Means, row.Type)
				assert.NotEmpty(t, row.True, row.Type)
				assert.Contains(t, []string{"good", "bad", "neutral"}, row.Polarity, row.Type)
				assert.Regexp(t, "^(always|while true|once applied)", row.There, row.Type)
				assert.Equal(t, strings.HasPrefix(row.There, "while true"), len(row.False) == 0, "%s: reasons when false", row.Type)
			}
			assert.ElementsMatch(t, types, listed, "types of conditions")
			slices.Sort(explained)
			assert.ElementsMatch(t, reasons, slices.Compact(explained), "reasons")
		})
	}
	for _, row := range conditions.Table(t, conditions.OfNodes) {
		assert.Equal(t, "Ready", row.Type)
	}
}

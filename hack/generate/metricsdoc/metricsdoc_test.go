package metricsdoc

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/sets"
)

func TestTheMetricsPageIsUpToDate(t *testing.T) {
	page, err := os.ReadFile("../../../docs/metrics.md")
	require.NoError(t, err)
	assert.Equal(t, Page(), string(page), "run make generate")
}

// A label that has a name of something that users create makes as many time series as they like.
func TestLabelsAreBounded(t *testing.T) {
	// internal/census bounds the last.
	bounded := sets.New("resource", "kind", "phase", "reason", "state", "program", "version", "namespace")
	seen := sets.New[string]()
	for _, metric := range All() {
		assert.Regexp(t, "^podsequence_", metric.Name)
		assert.NotEmpty(t, metric.Help, metric.Name)
		assert.False(t, seen.Has(metric.Name), "%s is there twice", metric.Name)
		seen.Insert(metric.Name)
		for _, label := range metric.Labels {
			assert.True(t, bounded.Has(label), "label %s of %s: how many values can it have?", label, metric.Name)
		}
	}
	assert.Greater(t, len(seen), 25)
}

// Package samples reads metrics in tests.
package samples

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// Of returns the values of a collector's gauges and counters by the values of their labels, in the order of the labels' names and
// with a space between two.
func Of(t *testing.T, collector prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(collector))
	families, err := registry.Gather()
	require.NoError(t, err)
	found := map[string]float64{}
	for _, family := range families {
		for _, sample := range family.GetMetric() {
			var labels []string
			for _, label := range sample.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			found[strings.Join(labels, " ")] = sample.GetGauge().GetValue() + sample.GetCounter().GetValue()
		}
	}
	return found
}

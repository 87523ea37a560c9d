package servertime

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var clockAhead = metrics.NewGauge(&metrics.GaugeOpts{
	Subsystem:      "podsequence",
	Name:           "clock_ahead_seconds",
	Help:           "By how much the clock of this machine is ahead of the API server's, negative where it is behind. Waits and timeouts count by the earlier of both.",
	StabilityLevel: metrics.ALPHA,
})

func init() {
	legacyregistry.MustRegister(clockAhead)
}

// Collectors are this package's metrics, for a program that does not serve Kubernetes' registry.
func Collectors() []prometheus.Collector { return []prometheus.Collector{clockAhead} }

package record

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var recordErrors = metrics.NewCounter(&metrics.CounterOpts{
	Subsystem: "podsequence",
	Name:      "pass_record_errors_total",
	Help: "Failed attempts to record that a group was passed: to look at what the group counts, or to write status.passes. " +
		"The program retries them; meanwhile nothing that waits for the group is released.",
	StabilityLevel: metrics.ALPHA,
})

func init() {
	legacyregistry.MustRegister(recordErrors)
}

// Collectors are this package's metrics, for a program that does not serve Kubernetes' registry.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{recordErrors}
}

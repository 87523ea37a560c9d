package podwriter

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var writeErrors = metrics.NewCounter(&metrics.CounterOpts{
	Subsystem: "podsequence",
	Name:      "pod_write_errors_total",
	Help: "Failed writes to pods: to lift a gate, to say what the pod waits for, by its condition or an event, or to clear its nomination. " +
		"The program retries them.",
	StabilityLevel: metrics.ALPHA,
})

func init() {
	legacyregistry.MustRegister(writeErrors)
}

// Collectors are this package's metrics, for a program that does not serve Kubernetes' registry.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{writeErrors}
}

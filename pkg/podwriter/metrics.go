package podwriter

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var writeErrors = metrics.NewCounter(&metrics.CounterOpts{
	Subsystem:      "podsequence",
	Name:           "pod_write_errors_total",
	Help:           "Failures to lift the gates of a pod or to tell it what it waits for. They are tried again.",
	StabilityLevel: metrics.ALPHA,
})

func init() {
	legacyregistry.MustRegister(writeErrors)
}

// Collectors are this package's metrics, for a program that does not serve Kubernetes' registry.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{writeErrors}
}

package objectwatch

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var watchErrors = metrics.NewCounter(&metrics.CounterOpts{
	Subsystem:      "podsequence",
	Name:           "object_watch_errors_total",
	Help:           "Failed lists and watches of objects that sequences wait for, or of what tells whether they can be read.",
	StabilityLevel: metrics.ALPHA,
})

func init() {
	legacyregistry.MustRegister(watchErrors)
}

// Collectors are this package's metrics, for a program that does not serve Kubernetes' registry.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{watchErrors}
}

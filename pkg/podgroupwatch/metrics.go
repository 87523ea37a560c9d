package podgroupwatch

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var watchErrors = metrics.NewCounterVec(&metrics.CounterOpts{
	Subsystem:      "podsequence",
	Name:           "podgroup_watch_errors_total",
	Help:           "Failed lists and watches of PodGroups, or of what says whether the kind PodGroup exists, by resource.",
	StabilityLevel: metrics.ALPHA,
}, []string{"resource"})

func init() {
	legacyregistry.MustRegister(watchErrors)
}

// Collectors are this package's metrics, for a program that does not serve Kubernetes' registry.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{watchErrors.CounterVec}
}

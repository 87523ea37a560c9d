package podgroupwatch

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var watchErrors = metrics.NewCounterVec(&metrics.CounterOpts{
	Subsystem:      "podsequence",
	Name:           "podgroup_watch_errors_total",
	Help:           "Failures to list or watch PodGroups, or what says whether there are any, by resource.",
	StabilityLevel: metrics.ALPHA,
}, []string{"resource"})

func init() {
	legacyregistry.MustRegister(watchErrors)
}

// Collectors are this package's metrics, for a program that does not serve Kubernetes' registry.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{watchErrors.CounterVec}
}

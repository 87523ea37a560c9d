package feed

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var (
	watchErrors = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem:      "podsequence",
		Name:           "watch_errors_total",
		Help:           "Failed lists and watches of the objects that decisions depend on, by resource. While they fail, waiting pods stay held.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"resource"})
	eventDuration = metrics.NewHistogram(&metrics.HistogramOpts{
		Subsystem:      "podsequence",
		Name:           "event_duration_seconds",
		Help:           "Seconds to process one event. Events of all namespaces are processed one after another; the queue of the scheduler does not wait for them.",
		Buckets:        metrics.ExponentialBuckets(0.00001, 4, 10),
		StabilityLevel: metrics.ALPHA,
	})
	engineSynced = metrics.NewGauge(&metrics.GaugeOpts{
		Subsystem:      "podsequence",
		Name:           "engine_synced",
		Help:           "1 while this process knows everything that it needs to release pods. While it is 0 the process releases none. A standby replica always has 0.",
		StabilityLevel: metrics.ALPHA,
	})
)

func init() {
	legacyregistry.MustRegister(watchErrors, eventDuration, engineSynced)
}

// Collectors are this package's metrics, for a program that does not serve Kubernetes' registry.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{
		watchErrors.CounterVec, eventDuration, engineSynced, holdDuration, heldPods, oldestHeldPod,
	}
}

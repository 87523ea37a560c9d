package podsequence

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var (
	preEnqueueDuration = metrics.NewHistogram(&metrics.HistogramOpts{
		Subsystem:      "podsequence",
		Name:           "preenqueue_duration_seconds",
		Help:           "Seconds to decide whether a pod may enter the scheduling queue. The queue is locked during that time, for all namespaces.",
		Buckets:        []float64{1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 0.1, 1},
		StabilityLevel: metrics.ALPHA,
	})
	bindLatency = metrics.NewHistogram(&metrics.HistogramOpts{
		Subsystem:      "podsequence",
		Name:           "release_to_bind_seconds",
		Help:           "Seconds from the release of a held pod until it was bound.",
		Buckets:        metrics.ExponentialBuckets(0.005, 2, 16),
		StabilityLevel: metrics.ALPHA,
	})
)

func init() { legacyregistry.MustRegister(preEnqueueDuration, bindLatency) }

// Collectors are this package's metrics.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{preEnqueueDuration, bindLatency}
}

// releasedAt is when the pod was released; zero if it never waited.
func (h *holder) releasedAt(pod *v1.Pod) time.Time {
	if f := h.feeding.Load(); f != nil {
		return f.engine.ReleasedAt(pod)
	}
	return time.Time{}
}

// observeBind measures how long it took to bind a pod that was released then.
func observeBind(releasedAt time.Time, now time.Time) {
	if !releasedAt.IsZero() {
		bindLatency.Observe(max(0, now.Sub(releasedAt).Seconds()))
	}
}

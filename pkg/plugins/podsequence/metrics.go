package podsequence

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var bindLatency = metrics.NewHistogram(&metrics.HistogramOpts{
	Subsystem:      "podsequence",
	Name:           "release_to_bind_seconds",
	Help:           "Seconds from the release of a held pod until it was bound.",
	Buckets:        metrics.ExponentialBuckets(0.005, 2, 16),
	StabilityLevel: metrics.ALPHA,
})

func init() {
	legacyregistry.MustRegister(bindLatency)
}

// Collectors are this package's metrics.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{bindLatency}
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

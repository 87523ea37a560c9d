package podsequence

import (
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var preEnqueueDuration = metrics.NewHistogram(&metrics.HistogramOpts{
	Subsystem:      "podsequence",
	Name:           "preenqueue_duration_seconds",
	Help:           "How long it takes to decide whether a pod may be queued. The scheduler's queue is locked meanwhile, for all namespaces.",
	Buckets:        []float64{1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 0.1, 1},
	StabilityLevel: metrics.ALPHA,
})

func init() { legacyregistry.MustRegister(preEnqueueDuration) }

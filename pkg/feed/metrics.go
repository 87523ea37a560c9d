package feed

import (
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var watchErrors = metrics.NewCounterVec(&metrics.CounterOpts{
	Subsystem:      "podsequence",
	Name:           "watch_errors_total",
	Help:           "Failures to list or watch what decisions are made from, by resource. While they last, pods that wait stay held.",
	StabilityLevel: metrics.ALPHA,
}, []string{"resource"})

func init() {
	legacyregistry.MustRegister(watchErrors)
}

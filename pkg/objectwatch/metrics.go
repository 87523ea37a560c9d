package objectwatch

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// The states of a watch.
const (
	statePending     = "Pending"
	stateReading     = "Reading"
	stateNotReadable = "NotReadable"
)

var watches = metrics.NewGaugeVec(&metrics.GaugeOpts{
	Subsystem: "podsequence",
	Name:      "object_watches",
	Help: "Kinds of objects that sequences wait for, once for each namespace, by state: Reading, Pending before the list is complete, " +
		"or NotReadable.",
	StabilityLevel: metrics.ALPHA,
}, []string{"state"})

var watchErrors = metrics.NewCounter(&metrics.CounterOpts{
	Subsystem:      "podsequence",
	Name:           "object_watch_errors_total",
	Help:           "Failed lists and watches of objects that sequences wait for, or of what tells whether they can be read.",
	StabilityLevel: metrics.ALPHA,
})

func init() {
	legacyregistry.MustRegister(watches, watchErrors)
	for _, state := range []string{statePending, stateReading, stateNotReadable} {
		watches.WithLabelValues(state) // 0 is served, too
	}
}

// Collectors are this package's metrics, for a program that does not serve Kubernetes' registry.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{watches.GaugeVec, watchErrors}
}

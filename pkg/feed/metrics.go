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
		Help:           "Failures to list or watch what decisions are made from, by resource. While they last, pods that wait stay held.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"resource"})
	confirmDuration = metrics.NewHistogram(&metrics.HistogramOpts{
		Subsystem:      "podsequence",
		Name:           "confirm_duration_seconds",
		Help:           "How long it takes to confirm that no change is missing, before a group counts as ready or a new pod is scheduled.",
		Buckets:        metrics.ExponentialBuckets(0.001, 2, 15),
		StabilityLevel: metrics.ALPHA,
	})
	eventDuration = metrics.NewHistogram(&metrics.HistogramOpts{
		Subsystem:      "podsequence",
		Name:           "event_duration_seconds",
		Help:           "How long the engine works on one event. Events of all namespaces come one after another; the scheduler's queue does not wait for them.",
		Buckets:        metrics.ExponentialBuckets(0.00001, 4, 10),
		StabilityLevel: metrics.ALPHA,
	})
	lists = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem:      "podsequence",
		Name:           "confirm_lists_total",
		Help:           "Lists of metadata that were made to confirm that no change is missing, by resource.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"resource"})
	splitStorage = metrics.NewGauge(&metrics.GaugeOpts{
		Subsystem:      "podsequence",
		Name:           "split_storage",
		Help:           "1 if resource versions of different kinds cannot be compared, because they are stored in more than one etcd. Every question then costs lists.",
		StabilityLevel: metrics.ALPHA,
	})
	engineSynced = metrics.NewGauge(&metrics.GaugeOpts{
		Subsystem:      "podsequence",
		Name:           "engine_synced",
		Help:           "1 while this process knows all it must know to release pods. 0 holds every pod, and is right on a standby.",
		StabilityLevel: metrics.ALPHA,
	})
	unreadableSequences = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Subsystem:      "podsequence",
		Name:           "unreadable_sequences",
		Help:           "PodSequences and ClusterPodSequences that cannot be read wholly, by resource: they were stored when the definition of their kind allowed more. They are Degraded, and hold what can be read of them.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"resource"})
	namespacesOfInterest = metrics.NewGauge(&metrics.GaugeOpts{
		Subsystem:      "podsequence",
		Name:           "namespaces_of_interest",
		Help:           "Namespaces whose pods and workloads are kept in memory: those that a PodSequence or a ClusterPodSequence speaks of, and those that one spoke of within the last minute.",
		StabilityLevel: metrics.ALPHA,
	})
	podsReleased = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem:      "podsequence",
		Name:           "pods_released_total",
		Help:           "Pods whose turn has come, of all schedulers.",
		StabilityLevel: metrics.ALPHA,
	})
)

func init() {
	legacyregistry.MustRegister(watchErrors, confirmDuration, eventDuration, lists, splitStorage, engineSynced, unreadableSequences, namespacesOfInterest, podsReleased)
}

// Collectors are this package's metrics, for a program that does not serve Kubernetes' registry.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{
		watchErrors.CounterVec, confirmDuration, eventDuration, lists.CounterVec, splitStorage, engineSynced,
		unreadableSequences.GaugeVec, namespacesOfInterest, podsReleased, holdDuration, heldPods{},
	}
}

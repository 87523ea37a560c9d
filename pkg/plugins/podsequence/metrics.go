package podsequence

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"example.com/podsequence/pkg/census"
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

// oldestPending is for pods that podsequence_oldest_held_pod_seconds leaves out: somebody waits for them too, and kube-scheduler's
// own scheduler_pending_pods does not say for how long they have waited.
var oldestPending = census.NewAge("podsequence_oldest_pending_pod_seconds",
	"Age in seconds of the oldest pod of this scheduler that has no node although no sequence holds it. Pods with a gate of another "+
		"system do not count.",
	func() (oldest time.Time) {
		holdersMu.Lock()
		defer holdersMu.Unlock()
		for _, h := range holders {
			oldest = census.Earlier(oldest, h.oldestPending())
		}
		return oldest
	})

func init() {
	legacyregistry.MustRegister(preEnqueueDuration, bindLatency)
	legacyregistry.RawMustRegister(oldestPending)
}

// Collectors are this package's metrics.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{preEnqueueDuration, bindLatency, oldestPending}
}

// oldestPending returns when the oldest pod was created that waits for a node and not for a sequence; zero if there is none.
func (h *holder) oldestPending() (oldest time.Time) {
	f := h.feeding.Load()
	if f == nil {
		return oldest // a standby, whose cache may be empty; profiles may still be added
	}
	pods, err := h.pods.List(labels.Everything())
	if err != nil {
		return oldest // a lister of a cache returns no error
	}
	for _, pod := range pods {
		if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || !h.profiles.Has(pod.Spec.SchedulerName) ||
			slices.ContainsFunc(pod.Spec.SchedulingGates, h.isOfAnother) || f.engine.Holds(pod) {
			continue
		}
		oldest = census.Earlier(oldest, pod.CreationTimestamp.Time)
	}
	return oldest
}

// isOfAnother reports whether the gate is not ours to lift.
func (h *holder) isOfAnother(gate v1.PodSchedulingGate) bool {
	return !slices.ContainsFunc(h.args.GatePrefixes, func(prefix string) bool { return strings.HasPrefix(gate.Name, prefix) })
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

package podsequence

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/census"
)

// durations are the buckets of what takes seconds to hours.
var durations = []float64{1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 24 * 3600}

var (
	sequencesByPhase = gaugeVec("sequences", "Sequences, by kind and phase.", "kind", "phase")
	groupsByPhase    = gaugeVec("groups", "Groups of sequences, by kind and phase. In a sequence of scope Node a group counts once, not for each node.",
		"kind", "phase")
	groupWait = histogramVec("group_wait_seconds",
		"Seconds that groups waited for earlier groups: from the creation of the sequence, or the edit that changed the group, to the release.")
	groupReady = histogramVec("group_ready_seconds", "Seconds from the release of a group until it was ready for the first time.")
	passLag    = histogramVec("group_pass_lag_seconds",
		"Seconds from when a group was passed until status says so. Times of the API server are whole seconds.")

	statusWriteErrors = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: "podsequence",
		Name:      "status_write_errors_total",
		Help: "Failures to write the status of a sequence, by kind and namespace. The controller retries them. A conflict with another " +
			"writer is not counted.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"kind", "namespace"})
)

var (
	phases = census.New[types.NamespacedName](sequencesByPhase)
	groups = census.New[types.NamespacedName](groupsByPhase)

	degradedSequences = census.NewNamedPlaces[types.NamespacedName]("podsequence_degraded_sequences",
		"Sequences whose condition Degraded is true, by kind and reason. One with several reasons counts for each of them.", "kind", "reason")
	stalledSequences = census.NewNamedPlaces[types.NamespacedName]("podsequence_stalled_sequences",
		"Sequences that will not complete unless somebody acts, by kind and reason.", "kind", "reason")
	earlyPods = census.NewNamedPlaces[types.NamespacedName]("podsequence_pods_started_out_of_order",
		"Pods that started before their sequence existed, while a group that they wait for was not ready, by kind of the sequence.", "kind")
	overriddenSequences = census.NewNamedPlaces[types.NamespacedName]("podsequence_overridden_sequences",
		"Sequences with annotations that override the spec, by kind; with reason InvalidOverride those with one that cannot be read.", "kind", "reason")
	overrides      = census.NewOldest[types.NamespacedName]()
	oldestOverride = census.NewNamedAges("podsequence_oldest_override_seconds",
		"Seconds since annotations began to override the spec of the sequence that has been overridden longest.", overrides.ByPlace)
	inProgress  = census.NewOldest[types.NamespacedName]()
	oldestGroup = census.NewNamedAges("podsequence_oldest_group_in_progress_seconds",
		"Seconds since the release of the group that has been in progress longest. Suspended sequences do not count.", inProgress.ByPlace)

	namesInErrors census.Names
)

func init() {
	legacyregistry.MustRegister(sequencesByPhase, groupsByPhase, groupWait, groupReady, passLag, statusWriteErrors)
	legacyregistry.RawMustRegister(degradedSequences, stalledSequences, earlyPods, overriddenSequences, oldestOverride, oldestGroup)
}

// Collectors are this package's metrics, for a program that does not serve Kubernetes' registry.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{
		sequencesByPhase.GaugeVec, groupsByPhase.GaugeVec, degradedSequences, stalledSequences, earlyPods, overriddenSequences, oldestOverride, oldestGroup,
		groupWait.HistogramVec, groupReady.HistogramVec, passLag.HistogramVec, statusWriteErrors.CounterVec,
	}
}

func gaugeVec(name, help string, labels ...string) *metrics.GaugeVec {
	return metrics.NewGaugeVec(&metrics.GaugeOpts{Subsystem: "podsequence", Name: name, Help: help, StabilityLevel: metrics.ALPHA}, labels)
}

func histogramVec(name, help string) *metrics.HistogramVec {
	return metrics.NewHistogramVec(&metrics.HistogramOpts{
		Subsystem: "podsequence", Name: name, Help: help, Buckets: durations, StabilityLevel: metrics.ALPHA,
	}, []string{"kind"})
}

// kindOf is the kind of the sequence of that name: one of the whole cluster has no namespace.
func kindOf(key types.NamespacedName) string {
	if key.Namespace == "" {
		return "ClusterPodSequence"
	}
	return "PodSequence"
}

// placeOf is where a sequence counts: a PodSequence in its namespace. Only administrators create ClusterPodSequences, so each counts
// under its name.
func placeOf(key types.NamespacedName) census.Place {
	if key.Namespace == "" {
		return census.Place{Name: key.Name}
	}
	return census.Place{Namespace: key.Namespace}
}

// count updates the metrics with the status of a sequence.
func count(key types.NamespacedName, status *v1alpha1.PodSequenceStatus) {
	kind, place := kindOf(key), placeOf(key)
	phases.Set(key, census.One(kind, string(status.Phase)))
	inPhase := map[v1alpha1.GroupPhase]int{}
	var since *metav1.Time
	for i := range status.Groups {
		group := &status.Groups[i]
		inPhase[group.Phase]++
		if group.Phase == v1alpha1.GroupInProgress && group.SatisfiedAt == nil && (since == nil || group.ReleasedAt.Before(since)) {
			since = group.ReleasedAt
		}
	}
	var items []census.Item
	for _, phase := range []v1alpha1.GroupPhase{
		v1alpha1.GroupWaiting, v1alpha1.GroupInProgress, v1alpha1.GroupPassed, v1alpha1.GroupFailed, v1alpha1.GroupSkipped,
	} {
		if inPhase[phase] > 0 {
			items = append(items, census.Item{Labels: []string{kind, string(phase)}, Count: inPhase[phase]})
		}
	}
	groups.Set(key, items...)
	early := startedOutOfOrder(status)
	byName.set(key, namedSequence{status.Phase, inPhase, early, countOverride(key, status)})
	if early > 0 {
		earlyPods.Set(key, place, census.Item{Labels: []string{kind}, Count: early})
	} else {
		earlyPods.Forget(key)
	}
	var reasons []census.Item
	for _, reason := range status.DegradedReasons {
		reasons = append(reasons, census.One(kind, reason))
	}
	degradedSequences.Set(key, place, reasons...)
	stalledSequences.Set(key, place, reasonIf(status, v1alpha1.ConditionStalled, kind)...)
	if since == nil || meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionSuspended) {
		inProgress.Forget(key)
	} else {
		inProgress.Set(key, place, since.Time)
	}
}

// countOverride updates the metrics of overrides, and returns since when annotations override the spec; zero if they do not. It is the
// condition that says so, so that a restart does not make an old override a new one.
func countOverride(key types.NamespacedName, status *v1alpha1.PodSequenceStatus) time.Time {
	condition, kind, place := overridden(*status), kindOf(key), placeOf(key)
	var items []census.Item
	if condition.Reason == v1alpha1.ReasonInvalidOverride {
		items = append(items, census.One(kind, condition.Reason))
	}
	if condition.Status != metav1.ConditionTrue {
		overriddenSequences.Set(key, place, items...)
		overrides.Forget(key)
		return time.Time{}
	}
	overriddenSequences.Set(key, place, append(items, census.One(kind, v1alpha1.ReasonOverridden))...)
	overrides.Set(key, place, condition.LastTransitionTime.Time)
	return condition.LastTransitionTime.Time
}

// startedOutOfOrder is how many pods started out of order.
func startedOutOfOrder(status *v1alpha1.PodSequenceStatus) int {
	if status.StartedOutOfOrder == nil {
		return 0
	}
	return int(status.StartedOutOfOrder.Total)
}

// reasonIf counts the reason of a condition, if it is true.
func reasonIf(status *v1alpha1.PodSequenceStatus, condition, kind string) []census.Item {
	if c := meta.FindStatusCondition(status.Conditions, condition); c != nil && c.Status == metav1.ConditionTrue {
		return []census.Item{census.One(kind, c.Reason)}
	}
	return nil
}

// forgetCounted removes a sequence from the metrics.
func forgetCounted(key types.NamespacedName) {
	for _, counted := range []interface{ Forget(types.NamespacedName) }{phases, groups, degradedSequences, stalledSequences, earlyPods, overriddenSequences, overrides} {
		counted.Forget(key)
	}
	inProgress.Forget(key)
	byName.forget(key)
}

// countStatusError counts a status that could not be written.
func countStatusError(key types.NamespacedName) {
	statusWriteErrors.WithLabelValues(kindOf(key), namesInErrors.Of(key.Namespace)).Inc()
}

// observeProgress measures what a status says that the one before did not.
func observeProgress(object metav1.Object, before, after v1alpha1.PodSequenceStatus, now time.Time) {
	kind := kindOf(types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()})
	for i := range after.Groups {
		was, is := recordBefore(before, after, i), after.Groups[i]
		if is.ReleasedAt == nil {
			continue
		}
		if was.ReleasedAt == nil && i > 0 {
			since := object.GetCreationTimestamp().Time
			if is.ChangedAt != nil && is.ChangedAt.After(since) {
				since = is.ChangedAt.Time
			}
			groupWait.WithLabelValues(kind).Observe(max(0, is.ReleasedAt.Sub(since).Seconds()))
		}
		if was.FirstSatisfiedAt == nil && is.FirstSatisfiedAt != nil {
			groupReady.WithLabelValues(kind).Observe(max(0, is.FirstSatisfiedAt.Sub(is.ReleasedAt.Time).Seconds()))
		}
		if was.PassedAt == nil && is.PassedAt != nil {
			passLag.WithLabelValues(kind).Observe(max(0, now.Sub(is.PassedAt.Time).Seconds()))
		}
	}
}

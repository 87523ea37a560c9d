package podsequence

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/census"
	"example.com/podsequence/internal/telemetry"
)

var (
	sequencesByPhase = telemetry.Sequences.GaugeVec("sequences", "Sequences, by kind and phase.", "kind", "phase")
	groupsByPhase    = telemetry.Sequences.GaugeVec("groups",
		"Groups of sequences, by kind and phase. In a sequence of scope Node a group counts once, not for each node.", "kind", "phase")
	groupReady = telemetry.Sequences.HistogramVec("group_ready_seconds",
		"Seconds from the release of a group until it was ready for the first time.", telemetry.Durations, "kind")
	statusWriteErrors = telemetry.Sequences.CounterVec("status_write_errors_total",
		"Failures to write the status of a sequence, by kind. The controller retries them. A conflict with another writer is not counted.", "kind")

	degradedSequences = telemetry.Sequences.GaugeVec("degraded_sequences",
		"Sequences whose condition Degraded is true, by kind and reason. One with several reasons counts for each of them.", "kind", "reason")
	stalledSequences = telemetry.Sequences.GaugeVec("stalled_sequences",
		"Sequences that will not complete unless somebody acts, by kind and reason.", "kind", "reason")
	overriddenSequences = telemetry.Sequences.GaugeVec("overridden_sequences", "Sequences with annotations that override the spec, by kind.", "kind")
	podsOutOfOrder      = telemetry.Sequences.GaugeVec("pods_started_out_of_order",
		"Pods that started before their sequence existed, while a group that they wait for was not ready, by kind of the sequence.", "kind")
)

var (
	phases    = census.New[types.NamespacedName](sequencesByPhase)
	groups    = census.New[types.NamespacedName](groupsByPhase)
	degraded  = census.New[types.NamespacedName](degradedSequences)
	stalled   = census.New[types.NamespacedName](stalledSequences)
	overrides = census.New[types.NamespacedName](overriddenSequences)
	earlyPods = census.New[types.NamespacedName](podsOutOfOrder)

	overriddenSince = census.NewOldest[types.NamespacedName]()
	_               = census.NewAge(&telemetry.Sequences, "oldest_override_seconds",
		"Seconds since annotations began to override the spec of the sequence that has been overridden longest.", overriddenSince.Since)
	inProgressSince = census.NewOldest[types.NamespacedName]()
	_               = census.NewAge(&telemetry.Sequences, "oldest_group_in_progress_seconds",
		"Seconds since the release of the group that has been in progress longest. Suspended sequences do not count.", inProgressSince.Since)
)

// kindOf is the kind of the sequence of that name: one of the whole cluster has no namespace.
func kindOf(key types.NamespacedName) string {
	if key.Namespace == "" {
		return "ClusterPodSequence"
	}
	return "PodSequence"
}

// count updates the metrics with the status of a sequence.
func count(key types.NamespacedName, status *v1alpha1.PodSequenceStatus) {
	kind := kindOf(key)
	phases.Set(key, census.One(kind, string(status.Phase)))
	var inPhase []census.Item
	var since time.Time
	for i := range status.Groups {
		group := &status.Groups[i]
		inPhase = append(inPhase, census.One(kind, string(group.Phase)))
		if group.Phase == v1alpha1.GroupInProgress && group.SatisfiedAt == nil && group.ReleasedAt != nil {
			since = census.Earlier(since, group.ReleasedAt.Time)
		}
	}
	groups.Set(key, inPhase...)
	if early := status.StartedOutOfOrder; early != nil && early.Total > 0 {
		earlyPods.Set(key, census.Item{Labels: []string{kind}, Count: int(early.Total)})
	} else {
		earlyPods.Forget(key)
	}
	var reasons []census.Item
	for _, reason := range status.DegradedReasons {
		reasons = append(reasons, census.One(kind, reason))
	}
	degraded.Set(key, reasons...)
	stalls := reasonIf(status, v1alpha1.ConditionStalled, kind)
	stalled.Set(key, stalls...)
	census.Problems.Set(kind, key.Namespace, key.Name, min(1, len(reasons)+len(stalls)))
	countOverride(key, status)
	if meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionSuspended) {
		since = time.Time{}
	}
	inProgressSince.Set(key, since)
}

// countOverride updates the metrics of overrides. It is the condition that says since when annotations override the spec, so that a
// restart does not make an old override a new one.
func countOverride(key types.NamespacedName, status *v1alpha1.PodSequenceStatus) {
	condition := overridden(*status)
	if condition.Status != metav1.ConditionTrue {
		overrides.Forget(key)
		overriddenSince.Set(key, time.Time{})
		return
	}
	overrides.Set(key, census.One(kindOf(key)))
	overriddenSince.Set(key, condition.LastTransitionTime.Time)
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
	for _, counted := range []*census.Census[types.NamespacedName]{phases, groups, degraded, stalled, overrides, earlyPods} {
		counted.Forget(key)
	}
	census.Problems.Set(kindOf(key), key.Namespace, key.Name, 0)
	overriddenSince.Set(key, time.Time{})
	inProgressSince.Set(key, time.Time{})
}

// countStatusError counts a status that could not be written.
func countStatusError(key types.NamespacedName) { statusWriteErrors.WithLabelValues(kindOf(key)).Inc() }

// observeReady measures how long groups took to be ready of which a status says so and the one before did not.
func observeReady(key types.NamespacedName, before, after v1alpha1.PodSequenceStatus) {
	for i := range after.Groups {
		was, is := recordBefore(before, after, i), after.Groups[i]
		if is.ReleasedAt != nil && was.FirstSatisfiedAt == nil && is.FirstSatisfiedAt != nil {
			groupReady.WithLabelValues(kindOf(key)).Observe(max(0, is.FirstSatisfiedAt.Sub(is.ReleasedAt.Time).Seconds()))
		}
	}
}

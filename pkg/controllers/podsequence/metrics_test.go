package podsequence

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/metrics/testutil"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/census"
	"example.com/podsequence/test/harness/samples"
)

func expectGauge(t *testing.T, want float64, gauge *prometheus.GaugeVec, labels ...string) {
	t.Helper()
	got, err := testutil.GetGaugeMetricValue(gauge.WithLabelValues(labels...))
	assert.NoError(t, err)
	assert.InDelta(t, want, got, 0, "%v", labels)
}

// The kind ClusterPodSequence has the gauges for itself in this package's tests.
func TestMetricsCountSequencesAsTheirStatusSays(t *testing.T) {
	const kind = "ClusterPodSequence"
	first, second := types.NamespacedName{Name: "first"}, types.NamespacedName{Name: "second"}
	released := metav1.NewTime(time.Now().Add(-time.Hour))
	status := v1alpha1.PodSequenceStatus{
		Phase: v1alpha1.PhaseInProgress,
		Groups: []v1alpha1.GroupStatus{
			{Phase: v1alpha1.GroupPassed, ReleasedAt: &metav1.Time{Time: released.Add(-time.Hour)}},
			{Phase: v1alpha1.GroupInProgress, ReleasedAt: &released},
			{Phase: v1alpha1.GroupWaiting}, {Phase: v1alpha1.GroupWaiting},
		},
	}
	count(first, &status)
	count(second, &status)
	expectGauge(t, 2, sequencesByPhase, kind, "InProgress")
	expectGauge(t, 4, groupsByPhase, kind, "Waiting")
	assert.Equal(t, released.Time, inProgressSince.Since())

	failed := v1alpha1.PodSequenceStatus{Phase: v1alpha1.PhaseFailed, DegradedReasons: []string{"PodFailed", "UngovernedPods"}, Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPodFailed},
		{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPodFailed},
	}}
	count(second, &failed)
	expectGauge(t, 1, sequencesByPhase, kind, "InProgress")
	expectGauge(t, 1, sequencesByPhase, kind, "Failed")
	expectGauge(t, 2, groupsByPhase, kind, "Waiting")
	expectGauge(t, 1, degradedSequences, kind, "PodFailed")
	expectGauge(t, 1, degradedSequences, kind, "UngovernedPods")
	expectGauge(t, 1, stalledSequences, kind, "PodFailed")

	// Two sequences of a namespace are counted together, apart from those of another namespace.
	shop := []types.NamespacedName{{Namespace: "shop", Name: "a"}, {Namespace: "shop", Name: "b"}, {Namespace: "bank", Name: "a"}}
	for _, key := range shop {
		count(key, &failed)
	}
	expectGauge(t, 3, stalledSequences, "PodSequence", "PodFailed")
	assert.Equal(t, map[string]float64{kind + " ": 1, "PodSequence bank": 1, "PodSequence shop": 2}, samples.Of(t, census.Problems))
	for _, key := range shop {
		forgetCounted(key)
	}

	status.StartedOutOfOrder = &v1alpha1.StartedOutOfOrderStatus{Total: 120}
	count(first, &status)
	expectGauge(t, 120, podsOutOfOrder, kind)
	status.StartedOutOfOrder = nil
	count(first, &status)
	expectGauge(t, 0, podsOutOfOrder, kind)
	status.StartedOutOfOrder = &v1alpha1.StartedOutOfOrderStatus{Total: 3}

	status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSuspended, Status: metav1.ConditionTrue}}
	count(first, &status)
	assert.Zero(t, inProgressSince.Since(), "a suspended sequence is not stuck")

	forgetCounted(first)
	forgetCounted(second)
	expectGauge(t, 0, sequencesByPhase, kind, "Failed")
	expectGauge(t, 0, groupsByPhase, kind, "Waiting")
	expectGauge(t, 0, degradedSequences, kind, "PodFailed")
	expectGauge(t, 0, stalledSequences, kind, "PodFailed")
	expectGauge(t, 0, podsOutOfOrder, kind)
	assert.Empty(t, samples.Of(t, census.Problems))
}

func TestMetricsCountOverridesSinceTheirConditionIsTrue(t *testing.T) {
	since := metav1.NewTime(time.Now().Add(-30 * time.Hour))
	condition := metav1.Condition{
		Type: v1alpha1.ConditionOverridden, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonOverridden, LastTransitionTime: since,
	}
	status := &v1alpha1.PodSequenceStatus{Conditions: []metav1.Condition{condition}}
	key := types.NamespacedName{Namespace: "shop", Name: "a"}
	expect := func(overridden float64) {
		t.Helper()
		expectGauge(t, overridden, overriddenSequences, "PodSequence")
	}
	count(key, status)
	expect(1)
	assert.Equal(t, since.Time, overriddenSince.Since())

	status.Conditions[0].Reason = v1alpha1.ReasonInvalidOverride
	count(key, status)
	expect(1) // one annotation overrides, another cannot be read

	status.Conditions[0].Status = metav1.ConditionFalse
	count(key, status)
	expect(0)
	assert.Zero(t, overriddenSince.Since())

	count(key, &v1alpha1.PodSequenceStatus{Conditions: []metav1.Condition{condition}})
	forgetCounted(key)
	expect(0)
	assert.Zero(t, overriddenSince.Since())
}

func TestMetricsMeasureOnceHowLongAGroupTookToBeReady(t *testing.T) {
	at := func(seconds int64) *metav1.Time { return &metav1.Time{Time: time.Unix(seconds, 0)} }
	before := v1alpha1.PodSequenceStatus{Groups: []v1alpha1.GroupStatus{{ReleasedAt: at(100)}, {}}}
	after := v1alpha1.PodSequenceStatus{Groups: []v1alpha1.GroupStatus{{ReleasedAt: at(100), FirstSatisfiedAt: at(140)}, {ReleasedAt: at(150)}}}
	observeReady(types.NamespacedName{Name: "cluster"}, before, after)
	observeReady(types.NamespacedName{Name: "cluster"}, after, after)
	sum, err := testutil.GetHistogramMetricValue(groupReady.WithLabelValues("ClusterPodSequence"))
	assert.NoError(t, err)
	assert.InDelta(t, 40, sum, 0)
}

package podsequence

import (
	"strings"
	"testing"
	"time"

	promtest "github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/census"
	"example.com/podsequence/test/harness/samples"
)

func expectGauge(t *testing.T, want float64, gauge *metrics.GaugeVec, labels ...string) {
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
	assert.Equal(t, map[census.Place]time.Time{{Name: "first"}: released.Time, {Name: "second"}: released.Time}, inProgress.ByPlace())

	failed := v1alpha1.PodSequenceStatus{Phase: v1alpha1.PhaseFailed, DegradedReasons: []string{"PodFailed", "UngovernedPods"}, Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPodFailed},
		{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPodFailed},
	}}
	count(second, &failed)
	expectGauge(t, 1, sequencesByPhase, kind, "InProgress")
	expectGauge(t, 1, sequencesByPhase, kind, "Failed")
	expectGauge(t, 2, groupsByPhase, kind, "Waiting")
	assert.Equal(t, map[string]float64{kind + " second  PodFailed": 1, kind + " second  UngovernedPods": 1}, samples.Of(t, degradedSequences))
	assert.Equal(t, map[string]float64{kind + " second  PodFailed": 1}, samples.Of(t, stalledSequences))

	// Two sequences of a namespace are counted together, apart from those of another namespace.
	shop := []types.NamespacedName{{Namespace: "shop", Name: "a"}, {Namespace: "shop", Name: "b"}, {Namespace: "bank", Name: "a"}}
	for _, key := range shop {
		count(key, &failed)
	}
	assert.Equal(t, map[string]float64{
		kind + " second  PodFailed": 1, "PodSequence  bank PodFailed": 1, "PodSequence  shop PodFailed": 2,
	}, samples.Of(t, stalledSequences))
	for _, key := range shop {
		forgetCounted(key)
	}

	status.StartedOutOfOrder = &v1alpha1.StartedOutOfOrderStatus{Total: 120}
	count(first, &status)
	assert.Equal(t, map[string]float64{kind + " first ": 120}, samples.Of(t, earlyPods))
	status.StartedOutOfOrder = nil
	count(first, &status)
	assert.Empty(t, samples.Of(t, earlyPods))
	status.StartedOutOfOrder = &v1alpha1.StartedOutOfOrderStatus{Total: 3}

	status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSuspended, Status: metav1.ConditionTrue}}
	count(first, &status)
	assert.Empty(t, inProgress.ByPlace(), "a suspended sequence is not stuck")

	forgetCounted(first)
	forgetCounted(second)
	expectGauge(t, 0, sequencesByPhase, kind, "Failed")
	expectGauge(t, 0, groupsByPhase, kind, "Waiting")
	assert.Empty(t, samples.Of(t, degradedSequences))
	assert.Empty(t, samples.Of(t, stalledSequences))
	assert.Empty(t, samples.Of(t, earlyPods))
}

func TestMetricsCountOverridesSinceTheirConditionIsTrue(t *testing.T) {
	since := metav1.NewTime(time.Now().Add(-30 * time.Hour))
	condition := metav1.Condition{
		Type: v1alpha1.ConditionOverridden, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonOverridden, LastTransitionTime: since,
	}
	status := &v1alpha1.PodSequenceStatus{Conditions: []metav1.Condition{condition}}
	key := types.NamespacedName{Namespace: "shop", Name: "a"}
	count(key, status)
	assert.Equal(t, map[string]float64{"PodSequence  shop Overridden": 1}, samples.Of(t, overriddenSequences))
	assert.Equal(t, map[census.Place]time.Time{{Namespace: "shop"}: since.Time}, overrides.ByPlace())

	status.Conditions[0].Reason = v1alpha1.ReasonInvalidOverride
	count(key, status)
	assert.Equal(t, map[string]float64{"PodSequence  shop Overridden": 1, "PodSequence  shop InvalidOverride": 1}, samples.Of(t, overriddenSequences),
		"one annotation overrides, another cannot be read")

	status.Conditions[0].Status = metav1.ConditionFalse
	count(key, status)
	assert.Equal(t, map[string]float64{"PodSequence  shop InvalidOverride": 1}, samples.Of(t, overriddenSequences))
	assert.Empty(t, overrides.ByPlace())

	count(key, &v1alpha1.PodSequenceStatus{Conditions: []metav1.Condition{condition}})
	forgetCounted(key)
	assert.Empty(t, samples.Of(t, overriddenSequences))
	assert.Empty(t, overrides.ByPlace())
}

func TestMetricsMeasureEachStepOfAGroupOnce(t *testing.T) {
	at := func(seconds int64) *metav1.Time { return &metav1.Time{Time: time.Unix(seconds, 0)} }
	object := &metav1.ObjectMeta{Name: "cluster", CreationTimestamp: *at(100)}
	before := v1alpha1.PodSequenceStatus{Groups: []v1alpha1.GroupStatus{{ReleasedAt: at(100)}, {}}}
	after := v1alpha1.PodSequenceStatus{Groups: []v1alpha1.GroupStatus{
		{ReleasedAt: at(100), FirstSatisfiedAt: at(140), SatisfiedAt: at(140), PassedAt: at(150)}, {ReleasedAt: at(150)},
	}}
	sum := func(of *metrics.HistogramVec) float64 {
		value, err := testutil.GetHistogramMetricValue(of.WithLabelValues("ClusterPodSequence"))
		assert.NoError(t, err)
		return value
	}
	observeProgress(object, before, after, time.Unix(151, 0))
	observeProgress(object, after, after, time.Unix(500, 0))
	assert.InDelta(t, 50, sum(groupWait), 0)
	assert.InDelta(t, 40, sum(groupReady), 0)
	assert.InDelta(t, 1, sum(passLag), 0)
}

func TestMetricsNameSequencesOnlyWhenAskedTo(t *testing.T) {
	key := types.NamespacedName{Namespace: "shop", Name: "named"}
	status := v1alpha1.PodSequenceStatus{Phase: v1alpha1.PhaseInProgress, Groups: []v1alpha1.GroupStatus{
		{Phase: v1alpha1.GroupInProgress}, {Phase: v1alpha1.GroupWaiting}, {Phase: v1alpha1.GroupWaiting},
	}, StartedOutOfOrder: &v1alpha1.StartedOutOfOrderStatus{Total: 2}, Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionOverridden, Status: metav1.ConditionTrue, LastTransitionTime: metav1.Unix(1800000000, 0)},
	}}
	count(key, &status)
	assert.Zero(t, promtest.CollectAndCount(byName), "nobody has asked")

	CollectorsByName()
	count(key, &status)
	want := `
		# HELP podsequence_sequence_groups [ALPHA] Groups of a sequence, by phase.
		# TYPE podsequence_sequence_groups gauge
		podsequence_sequence_groups{kind="PodSequence",name="named",namespace="shop",phase="InProgress"} 1
		podsequence_sequence_groups{kind="PodSequence",name="named",namespace="shop",phase="Waiting"} 2
		# HELP podsequence_sequence_overridden_timestamp_seconds [ALPHA] When annotations began to override the spec of a sequence, in seconds since 1970. Absent while they do not.
		# TYPE podsequence_sequence_overridden_timestamp_seconds gauge
		podsequence_sequence_overridden_timestamp_seconds{kind="PodSequence",name="named",namespace="shop"} 1.8e+09
		# HELP podsequence_sequence_phase [ALPHA] 1 for the current phase of a sequence.
		# TYPE podsequence_sequence_phase gauge
		podsequence_sequence_phase{kind="PodSequence",name="named",namespace="shop",phase="InProgress"} 1
		# HELP podsequence_sequence_pods_started_out_of_order [ALPHA] Pods that started before the sequence existed, while a group that they wait for was not ready. Absent if there are none.
		# TYPE podsequence_sequence_pods_started_out_of_order gauge
		podsequence_sequence_pods_started_out_of_order{kind="PodSequence",name="named",namespace="shop"} 2
	`
	assert.NoError(t, promtest.CollectAndCompare(byName, strings.NewReader(want)))
	forgetCounted(key)
	assert.Zero(t, promtest.CollectAndCount(byName), "a sequence that is gone leaves nothing behind")
}

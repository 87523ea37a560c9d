package podsequence

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
)

// Both say so, though the last event was one of the second only.
func TestSequencesThatWaitForEachOtherAreDegraded(t *testing.T) {
	f := newStatusFixture()
	a, b := types.NamespacedName{Namespace: "shop", Name: "a"}, types.NamespacedName{Namespace: "shop", Name: "b"}
	reconciled := func(key types.NamespacedName) {
		t.Helper()
		f.clock.SetTime(f.clock.Now().Add(2 * writeInterval))
		f.again, f.written = nil, nil
		_, err := f.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
		assert.NoError(t, err)
	}
	f.engine.ApplySequence(MakeSequence("shop", "a").UID("a").Label("X", "tier", "x").Label("Y", "tier", "y").Obj())
	for _, tier := range []string{"x", "y"} {
		p := st.MakePod().Namespace("shop").Name(tier).UID(tier).Label("tier", tier).SchedulerName("podsequence-scheduler").Obj()
		p.ResourceVersion = "2"
		f.engine.ApplyPod(p)
	}
	reconciled(a)
	assert.Empty(t, f.again)
	f.engine.ApplySequence(MakeSequence("shop", "b").UID("b").Label("Y", "tier", "y").Label("X", "tier", "x").Obj())
	reconciled(b)
	assert.Equal(t, []types.NamespacedName{a}, f.again, "it is part of the circle")
	for _, key := range []types.NamespacedName{b, a} {
		reconciled(key)
		if assert.Len(t, f.written, 1) {
			conditions := f.written[0].Status.Conditions
			degraded, stalled := meta.FindStatusCondition(conditions, v1alpha1.ConditionDegraded), meta.FindStatusCondition(conditions, v1alpha1.ConditionStalled)
			assert.Equal(t, v1alpha1.ReasonWaitsForItself, degraded.Reason)
			assert.Contains(t, degraded.Message, "PodSequence shop/a")
			assert.Contains(t, degraded.Message, "PodSequence shop/b")
			assert.Equal(t, v1alpha1.ReasonWaitsForItself, stalled.Reason, "which has an alert")
		}
	}
	reconciled(a)
	assert.Empty(t, f.again, "nothing is new")

	f.engine.RemoveSequence(b, "9")
	reconciled(b)
	assert.Equal(t, []types.NamespacedName{a}, f.again, "the circle is open")
	reconciled(a)
	defer reconciled(a) // and metrics forget it
	defer f.engine.RemoveSequence(a, "10")
	if assert.Len(t, f.written, 1) {
		assert.Equal(t, v1alpha1.ReasonAsExpected, meta.FindStatusCondition(f.written[0].Status.Conditions, v1alpha1.ConditionDegraded).Reason)
	}
}

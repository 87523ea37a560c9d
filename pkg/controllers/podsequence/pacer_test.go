package podsequence

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func TestPacer(t *testing.T) {
	shop := types.NamespacedName{Namespace: "shop", Name: "backend"}
	other := types.NamespacedName{Namespace: "shop", Name: "frontend"}
	clock := clocktesting.NewFakePassiveClock(time.Now())
	pacer := newPacer(clock, 20)

	assert.Zero(t, pacer.wait(shop), "the first write goes at once")
	pacer.wrote(shop)
	assert.Equal(t, writeInterval, pacer.wait(shop))
	assert.Zero(t, pacer.wait(other), "objects do not wait for one another")

	clock.SetTime(clock.Now().Add(writeInterval - time.Millisecond))
	assert.Equal(t, time.Millisecond, pacer.wait(shop))
	clock.SetTime(clock.Now().Add(time.Millisecond))
	assert.Zero(t, pacer.wait(shop))
	clock.SetTime(clock.Now().Add(time.Hour))
	assert.Zero(t, pacer.wait(shop), "a long wait does not save up writes")

	pacer.wrote(shop)
	pacer.forget(shop)
	assert.Zero(t, pacer.wait(shop), "an object made again under the same name starts afresh")
	assert.Empty(t, pacer.last)
}

func TestTheSequencesOfANamespaceShareABudgetOfStatusWrites(t *testing.T) {
	const perSecond = 20
	clock := clocktesting.NewFakePassiveClock(time.Now())
	pacer := newPacer(clock, perSecond)
	crowd := func(i int) types.NamespacedName {
		return types.NamespacedName{Namespace: "crowd", Name: fmt.Sprint(i)}
	}
	const burst = budgetBurst * perSecond
	for i := range burst {
		require.Zero(t, pacer.turn(crowd(i), 1), "write %d", i)
	}
	for i := range 2 * perSecond {
		assert.InDelta(t, time.Duration(i+1)*time.Second/perSecond, pacer.turn(crowd(burst+i), 1), float64(time.Millisecond))
	}
	assert.Zero(t, pacer.turn(types.NamespacedName{Namespace: "shop", Name: "backend"}, 1), "other namespaces do not wait")

	clock.SetTime(clock.Now().Add(time.Second))
	for i := range perSecond {
		assert.Zero(t, pacer.turn(crowd(burst+i), 1), "asking again costs nothing")
	}
	assert.InDelta(t, time.Second, pacer.turn(crowd(burst+2*perSecond-1), 1), float64(time.Millisecond))
	for i := range 2 * perSecond {
		pacer.forget(crowd(burst + i))
	}
	assert.Empty(t, pacer.turns)
}

func TestALargeStatusCostsAsMuchAsSeveralSmallOnes(t *testing.T) {
	tests := map[string]struct {
		status v1alpha1.PodSequenceStatus
		want   int
	}{
		"a few groups":         {status: v1alpha1.PodSequenceStatus{Groups: make([]v1alpha1.GroupStatus, 3)}, want: 1},
		"as many as there are": {status: v1alpha1.PodSequenceStatus{Groups: make([]v1alpha1.GroupStatus, 64)}, want: 9},
		"all nodes that are listed": {
			status: v1alpha1.PodSequenceStatus{
				Groups: make([]v1alpha1.GroupStatus, 2), NodeStatus: make([]v1alpha1.NodeStatus, v1alpha1.MaxListedNodes),
			},
			want: 9,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, writeCost(&test.status)) })
	}

	const perSecond = 10
	clock := clocktesting.NewFakePassiveClock(time.Now())
	pacer := newPacer(clock, perSecond)
	large := func(i int) types.NamespacedName { return types.NamespacedName{Namespace: "shop", Name: fmt.Sprint(i)} }
	require.Zero(t, pacer.turn(large(0), budgetBurst*perSecond))
	assert.InDelta(t, 900*time.Millisecond, pacer.turn(large(1), 9), float64(time.Millisecond))
	assert.InDelta(t, 2900*time.Millisecond, pacer.turn(large(2), 1000), float64(time.Millisecond), "none costs more than a burst")
}

func TestBudgetsOfNamespacesThatNeedNoneAreDropped(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	pacer := newPacer(clock, 20)
	for i := range 10_000 {
		require.Zero(t, pacer.turn(types.NamespacedName{Namespace: fmt.Sprint(i), Name: "shop"}, 1))
		clock.SetTime(clock.Now().Add(100 * time.Millisecond))
	}
	assert.LessOrEqual(t, len(pacer.budgets), 64)
}

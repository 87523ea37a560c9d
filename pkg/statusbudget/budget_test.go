package statusbudget

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestTheObjectsOfANamespaceShareABudget(t *testing.T) {
	const perSecond = 20
	clock := clocktesting.NewFakePassiveClock(time.Now())
	budget := New(clock, nil, perSecond)
	crowd := func(i int) types.NamespacedName {
		return types.NamespacedName{Namespace: "crowd", Name: fmt.Sprint(i)}
	}
	const burst = Burst * perSecond
	for i := range burst {
		require.Zero(t, budget.Turn(crowd(i), 1), "write %d", i)
	}
	for i := range 2 * perSecond {
		assert.InDelta(t, time.Duration(i+1)*time.Second/perSecond, budget.Turn(crowd(burst+i), 1), float64(time.Millisecond))
	}
	assert.Zero(t, budget.Turn(types.NamespacedName{Namespace: "shop", Name: "backend"}, 1), "other namespaces do not wait")

	clock.SetTime(clock.Now().Add(time.Second))
	for i := range perSecond {
		assert.Zero(t, budget.Turn(crowd(burst+i), 1), "asking again costs nothing")
	}
	assert.InDelta(t, time.Second, budget.Turn(crowd(burst+2*perSecond-1), 1), float64(time.Millisecond))
	for i := range 2 * perSecond {
		budget.Forget(crowd(burst + i))
	}
	assert.Empty(t, budget.turns)
}

func TestALargeStatusCostsAsMuchAsSeveralSmallOnes(t *testing.T) {
	const perSecond = 10
	clock := clocktesting.NewFakePassiveClock(time.Now())
	budget := New(clock, nil, perSecond)
	large := func(i int) types.NamespacedName { return types.NamespacedName{Namespace: "shop", Name: fmt.Sprint(i)} }
	require.Zero(t, budget.Turn(large(0), Burst*perSecond))
	assert.InDelta(t, 900*time.Millisecond, budget.Turn(large(1), 9), float64(time.Millisecond))
	assert.InDelta(t, 2900*time.Millisecond, budget.Turn(large(2), 1000), float64(time.Millisecond), "none costs more than a burst")
}

func TestBudgetsOfNamespacesThatNeedNoneAreDropped(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	budget := New(clock, nil, 20)
	for i := range 10_000 {
		require.Zero(t, budget.Turn(types.NamespacedName{Namespace: fmt.Sprint(i), Name: "shop"}, 1))
		clock.SetTime(clock.Now().Add(100 * time.Millisecond))
	}
	assert.LessOrEqual(t, len(budget.limiters), 64)
}

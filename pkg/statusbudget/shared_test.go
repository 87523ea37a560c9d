package statusbudget

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/podsequence/test/harness/slow"
)

// crowd plays tenants whose objects all have a status to write. Each asks again when it was told to.
type crowd struct {
	clock   *clocktesting.FakePassiveClock
	tenants []*demand
	asked   int
}

// demand is what one namespace asks for.
type demand struct {
	namespace string
	budget    *Budget
	cost      int
	// every is how often another object's status changes, objects how many objects there are.
	every   time.Duration
	objects int

	next    time.Time
	number  int
	due     map[types.NamespacedName]time.Time // when an object asks, or asks again
	since   map[types.NamespacedName]time.Time // since when it has something to write
	spent   int
	slowest time.Duration
}

func (c *crowd) pass(d time.Duration) {
	for end := c.clock.Now().Add(d); c.clock.Now().Before(end); c.clock.SetTime(c.clock.Now().Add(10 * time.Millisecond)) {
		for _, t := range c.tenants {
			c.asked += t.live(c.clock.Now())
		}
	}
}

// live does what the namespace does now. It returns how often it asked for a turn.
func (d *demand) live(now time.Time) (asked int) {
	if d.due == nil {
		d.due, d.since, d.next = map[types.NamespacedName]time.Time{}, map[types.NamespacedName]time.Time{}, now
	}
	for !d.next.After(now) {
		key := types.NamespacedName{Namespace: d.namespace, Name: fmt.Sprint(d.number % d.objects)}
		d.number++
		d.next = d.next.Add(d.every)
		if _, waits := d.since[key]; !waits {
			d.due[key], d.since[key] = now, now
		}
	}
	for key, at := range d.due {
		if at.After(now) {
			continue
		}
		asked++
		if wait := d.budget.Turn(key, d.cost); wait > 0 {
			d.due[key] = now.Add(wait)
			continue
		}
		d.spent += d.cost
		d.slowest = max(d.slowest, now.Sub(d.since[key]))
		delete(d.due, key)
		delete(d.since, key)
	}
	return asked
}

func TestSevenHostileNamespacesGetWhatIsLeft(t *testing.T) {
	slow.Test(t)
	const perSecond, seconds = 20, 60
	// Statuses of large objects and of small ones, each in a namespace of its own, all as often as a namespace may.
	hostile := func(clock *clocktesting.FakePassiveClock, shared *Shared, cost int) []*demand {
		var all []*demand
		for i := range 7 {
			all = append(all, &demand{
				namespace: fmt.Sprint("hostile-", i), budget: New(clock, shared, DefaultPerNamespace), cost: cost,
				every: 50 * time.Millisecond, objects: 300,
			})
		}
		return all
	}
	for name, tc := range map[string]struct {
		cost   int // of a hostile write
		victim demand
		// wantAll says that the victim gets everything, wantShare how much of all otherwise.
		wantAll   bool
		wantShare float64
		wantWait  time.Duration // the longest
	}{
		"one who asks for little does not wait for those who ask for much": {
			cost: 1, victim: demand{cost: 1, every: 500 * time.Millisecond, objects: 1000}, wantAll: true, wantWait: 100 * time.Millisecond,
		},
		"nor for large statuses": {
			cost: 9, victim: demand{cost: 1, every: 500 * time.Millisecond, objects: 1000}, wantAll: true, wantWait: 100 * time.Millisecond,
		},
		"one who asks for as much gets an eighth": {
			cost: 1, victim: demand{cost: 1, every: 50 * time.Millisecond, objects: 300}, wantShare: 1. / 8, wantWait: seconds * time.Second,
		},
		"of costs and not of writes": {
			cost: 9, victim: demand{cost: 1, every: 50 * time.Millisecond, objects: 300}, wantShare: 1. / 8, wantWait: seconds * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(time.Now())
			shared := NewShared(clock, perSecond)
			others := hostile(clock, shared, tc.cost)
			c := crowd{clock: clock, tenants: others}
			c.pass(30 * time.Second) // what may come at once is spent
			victim := &tc.victim
			victim.namespace, victim.budget = "victim", New(clock, shared, DefaultPerNamespace)
			c.tenants = append(slices.Clone(others), victim)
			before := 0
			for _, other := range others {
				before += other.spent
			}
			c.asked = 0
			c.pass(seconds * time.Second)

			spent := -before
			for _, other := range others {
				spent += other.spent
			}
			if tc.wantAll {
				assert.InDelta(t, int(seconds*time.Second/victim.every), victim.spent, 1)
			} else {
				assert.InDelta(t, tc.wantShare*perSecond*seconds, victim.spent, 30)
			}
			assert.LessOrEqual(t, victim.slowest, tc.wantWait)
			assert.InDelta(t, perSecond*seconds-victim.spent, spent, 20, "what is left is used by the others, and no more")
			assert.Less(t, c.asked, 8*perSecond*seconds, "turns that were asked for")
		})
	}
}

// The budget forgets the claims of pods that are released before it is their turn. What was not written must not count as the
// namespace's share: its next status would wait for writes that nobody made.
func TestForgottenClaimsAreNotPartOfAShare(t *testing.T) {
	slow.Test(t)
	const perSecond = 20
	clock := clocktesting.NewFakePassiveClock(time.Now())
	shared := NewShared(clock, perSecond)
	c := &crowd{clock: clock}
	for i := range 7 {
		c.tenants = append(c.tenants, &demand{
			namespace: fmt.Sprint("hostile-", i), budget: New(clock, shared, 10), cost: 1, every: 10 * time.Millisecond, objects: 1000,
		})
	}
	c.pass(time.Minute)

	pods := NewWithBurst(clock, shared, 10, 100)
	for i := range 100 {
		require.NotZero(t, pods.Turn(types.NamespacedName{Namespace: "shop", Name: fmt.Sprint(i)}, 1))
	}
	for i := range 100 {
		pods.Forget(types.NamespacedName{Namespace: "shop", Name: fmt.Sprint(i)})
	}

	shop := &demand{namespace: "shop", budget: New(clock, shared, 10), cost: 1, every: time.Hour, objects: 1}
	c.tenants = append(c.tenants, shop)
	c.pass(time.Minute)
	assert.Equal(t, 1, shop.spent)
	assert.Less(t, shop.slowest, 2*time.Second)
}

// Nobody is told that others have withdrawn what was ahead, so everybody asks again before long.
func TestWhoeverWaitsAsksAgainBeforeLong(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	budget := NewWithBurst(clock, NewShared(clock, 1), 10_000, 10_000)
	for i := range 5000 {
		assert.LessOrEqual(t, budget.Turn(types.NamespacedName{Namespace: "shop", Name: fmt.Sprint(i)}, 1), maxEstimate)
	}
}

func TestWhatPodsWaitForIsWrittenWhateverIsSpentForPeople(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	shared := NewShared(clock, 10)
	for i := range 11 * totalBurst {
		New(clock, shared, 10).Turn(types.NamespacedName{Namespace: fmt.Sprint(i), Name: "shop"}, 1)
	}
	budget := New(clock, shared, 1)
	key := types.NamespacedName{Namespace: "shop", Name: "backend"}
	require.NotZero(t, budget.Turn(key, 1))
	assert.Zero(t, budget.TurnToAct(key, 1))
	assert.Empty(t, budget.turns)
	require.Zero(t, budget.TurnToAct(key, 1))
	assert.Equal(t, time.Second, budget.TurnToAct(key, 1), "others of its namespace come first")
	clock.SetTime(clock.Now().Add(time.Minute))
	assert.Zero(t, budget.TurnToAct(key, 1))
}

func TestObjectsOfTwoKindsWithTheSameNameHaveTurnsOfTheirOwn(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	shared := NewShared(clock, 1)
	key := types.NamespacedName{Namespace: "shop", Name: "shop"}
	one, other := New(clock, shared, 10), New(clock, shared, 10)
	require.Zero(t, one.Turn(key, totalBurst))
	require.NotZero(t, one.Turn(key, 1))
	require.NotZero(t, other.Turn(key, 1))
	one.Forget(key)
	clock.SetTime(clock.Now().Add(time.Second))
	assert.Zero(t, other.Turn(key, 1), "what is forgotten is not paid for")
}

func TestNothingIsKeptOfNamespacesThatWereServed(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	shared := NewShared(clock, 10)
	busy := New(clock, shared, 1000)
	for i := range 10_000 { // somebody always waits
		busy.Turn(types.NamespacedName{Namespace: "busy", Name: fmt.Sprint(i)}, 2)
		key := types.NamespacedName{Namespace: fmt.Sprint(i), Name: "shop"}
		for range 2 {
			if New(clock, shared, 1).Turn(key, 1) > 0 {
				clock.SetTime(clock.Now().Add(300 * time.Millisecond))
			}
		}
	}
	assert.LessOrEqual(t, len(shared.lines), 128)
	clock.SetTime(clock.Now().Add(time.Hour))
	busy.Turn(types.NamespacedName{Namespace: "busy", Name: "last"}, 1)
	assert.Empty(t, shared.lines)
	assert.Empty(t, shared.queue)
}

package statusbudget

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/test/harness/slow"
)

const perSecond = 10

// run serves a budget in a bubble.
func run(t *testing.T, test func(t *testing.T, b *Budget)) {
	synctest.Test(t, func(t *testing.T) {
		b := New(perSecond)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); assert.NoError(t, b.Start(ctx)) }()
		test(t, b)
		cancel()
		<-done
	})
}

// spend takes what may come at once.
func spend(t *testing.T, b *Budget) {
	require.True(t, b.For(nil).Turn(types.NamespacedName{Namespace: "spender", Name: "all"}, Burst*perSecond))
}

// tenant has objects in one namespace that want to be written, each again when it was.
type tenant struct {
	turns Turns
	cost  int

	lock    sync.Mutex
	since   map[types.NamespacedName]time.Time
	writes  int
	slowest time.Duration
}

func newTenant(b *Budget, cost int) *tenant {
	d := &tenant{cost: cost, since: map[types.NamespacedName]time.Time{}}
	d.turns = b.For(d.look)
	return d
}

func (d *tenant) want(object types.NamespacedName) {
	d.lock.Lock()
	d.since[object] = time.Now()
	d.lock.Unlock()
	d.look(object)
}

func (d *tenant) look(object types.NamespacedName) {
	if d.turns.Turn(object, d.cost) {
		d.lock.Lock()
		defer d.lock.Unlock()
		d.writes++
		d.slowest = max(d.slowest, time.Since(d.since[object]))
	}
}

// written is how many of its writes were made.
func (d *tenant) written() int {
	d.lock.Lock()
	defer d.lock.Unlock()
	return d.writes
}

func in(namespace string, i int) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(i)}
}

// Seven namespaces have far more to write than they may. The victim's few writes wait for one write of each of them.
func TestNamespacesWithMuchToWriteDelayAnotherByOneWriteEach(t *testing.T) {
	slow.Test(t)
	for name, cost := range map[string]int{"small statuses": 1, "large statuses": 9} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, b *Budget) {
				const hostile = 7
				spend(t, b)
				storm := newTenant(b, cost)
				for i := range 1000 {
					for namespace := range hostile {
						storm.want(in(fmt.Sprint("hostile-", namespace), i))
					}
				}
				victim := newTenant(b, 1)
				const rounds, between = 10, 20 * time.Second
				before := storm.written()
				for i := range rounds {
					victim.want(in("victim", i))
					time.Sleep(between)
				}
				assert.Equal(t, rounds, victim.written())
				assert.LessOrEqual(t, victim.slowest, time.Duration((hostile+1)*cost+1)*time.Second/perSecond)
				left := int(rounds*between/time.Second)*perSecond - victim.written()
				assert.InDelta(t, left, (storm.written()-before)*cost, 2*float64(cost), "the others get what is left, and no more")
			})
		})
	}
}

func TestNamespacesThatWantAsMuchGetAsMuch(t *testing.T) {
	run(t, func(t *testing.T, b *Budget) {
		spend(t, b)
		one, other := newTenant(b, 1), newTenant(b, 1)
		for i := range 1000 {
			one.want(in("one", i))
		}
		for i := range 1000 {
			other.want(in("other", i))
		}
		time.Sleep(time.Minute)
		assert.InDelta(t, 60*perSecond/2, one.written(), 2)
		assert.InDelta(t, 60*perSecond/2, other.written(), 2)
	})
}

func TestALargeWriteCostsAsMuchAsSeveralSmallOnes(t *testing.T) {
	run(t, func(t *testing.T, b *Budget) {
		spend(t, b)
		d := newTenant(b, 9)
		d.want(in("shop", 0))
		time.Sleep(899 * time.Millisecond)
		assert.Zero(t, d.written())
		time.Sleep(2 * time.Millisecond)
		assert.Equal(t, 1, d.written())
		d = newTenant(b, 1_000_000)
		d.want(in("shop", 1))
		time.Sleep(Burst*time.Second + time.Millisecond)
		assert.Equal(t, 1, d.written(), "none costs more than a burst")
	})
}

// A namespace with thousands of held pods still says what its sequences do.
func TestWhatOneControllerWritesDoesNotWaitForAllThatAnotherDoes(t *testing.T) {
	run(t, func(t *testing.T, b *Budget) {
		spend(t, b)
		pods, sequences := newTenant(b, 1), newTenant(b, 1)
		for i := range 1000 {
			pods.want(in("shop", i))
		}
		sequences.want(in("shop", 0))
		time.Sleep(301 * time.Millisecond)
		assert.Equal(t, 1, sequences.written())
	})
}

// Pods are released before it is their turn. What is not written must not take the time of what is.
func TestWhatIsForgottenIsNotPaidFor(t *testing.T) {
	run(t, func(t *testing.T, b *Budget) {
		spend(t, b)
		gone := newTenant(b, 1)
		for i := range 1000 {
			gone.want(in("shop", i))
		}
		synctest.Wait()
		for i := range 1000 {
			gone.turns.Forget(in("shop", i))
		}
		d := newTenant(b, 1)
		d.want(in("shop", 0))
		time.Sleep(201 * time.Millisecond) // the first was being paid for
		assert.Equal(t, 1, d.written())
		assert.Zero(t, gone.written())
		synctest.Wait()
		assert.Empty(t, b.waiting)
		assert.Empty(t, b.granted)
	})
}

func TestObjectsOfTwoKindsWithTheSameNameHaveTurnsOfTheirOwn(t *testing.T) {
	run(t, func(t *testing.T, b *Budget) {
		spend(t, b)
		one, other := newTenant(b, 1), newTenant(b, 1)
		one.want(in("shop", 0))
		other.want(in("shop", 0))
		one.turns.Forget(in("shop", 0))
		time.Sleep(time.Second)
		assert.Zero(t, one.written())
		assert.Equal(t, 1, other.written())
	})
}

func TestATurnThatWasGrantedIsKeptUntilItIsTakenOrForgotten(t *testing.T) {
	run(t, func(t *testing.T, b *Budget) {
		spend(t, b)
		asked := 0
		turns := b.For(func(types.NamespacedName) { asked++ })
		require.False(t, turns.Turn(in("shop", 0), 1))
		require.False(t, turns.Turn(in("shop", 0), 1), "asking again costs nothing")
		time.Sleep(101 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, 1, asked)
		assert.True(t, turns.Turn(in("shop", 0), 1))
		assert.False(t, turns.Turn(in("shop", 0), 1), "it is the next write that asks now")
		time.Sleep(101 * time.Millisecond)
		turns.Forget(in("shop", 0))
		assert.False(t, turns.Turn(in("shop", 0), 1))
	})
}

package fairqueue

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

type (
	key   = types.NamespacedName
	queue = workqueue.TypedRateLimitingInterface[key]
)

func newQueue() queue {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[key](100*time.Millisecond, time.Minute)
	return By(func(k key) string { return k.Namespace })("", limiter)
}

func in(namespace, name string) key { return key{Namespace: namespace, Name: name} }

// served takes everything that waits, and says in which order it comes.
func served(q queue) []string {
	var order []string
	for q.Len() > 0 {
		item, _ := q.Get()
		order = append(order, item.String())
		q.Done(item)
	}
	return order
}

func TestNamespacesAreServedInTurn(t *testing.T) {
	for name, tc := range map[string]struct {
		added []key
		want  []string
	}{
		"one namespace is served in the order in which its items came": {
			added: []key{in("a", "3"), in("a", "1"), in("a", "2")},
			want:  []string{"a/3", "a/1", "a/2"},
		},
		"an item that comes after many of another namespace is served second": {
			added: []key{in("a", "1"), in("a", "2"), in("a", "3"), in("b", "1")},
			want:  []string{"a/1", "b/1", "a/2", "a/3"},
		},
		"of three namespaces each has one item served at a time": {
			added: []key{in("a", "1"), in("a", "2"), in("b", "1"), in("b", "2"), in("c", "1")},
			want:  []string{"a/1", "b/1", "c/1", "a/2", "b/2"},
		},
		"an item that is added twice is served once, in its first place": {
			added: []key{in("a", "1"), in("a", "2"), in("a", "1")},
			want:  []string{"a/1", "a/2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue()
			defer q.ShutDown()
			for _, item := range tc.added {
				q.Add(item)
			}
			assert.Equal(t, len(tc.want), q.Len())
			assert.Equal(t, tc.want, served(q))
		})
	}
}

func TestANamespaceThatIsBackComesLast(t *testing.T) {
	q := newQueue()
	defer q.ShutDown()
	for i := range 3 {
		q.Add(in("hostile", fmt.Sprint(i)))
	}
	first, _ := q.Get()
	q.Add(in("quiet", "1"))
	q.Add(first) // while it is worked on
	q.Done(first)
	assert.Equal(t, []string{"hostile/1", "quiet/1", "hostile/2", "hostile/0"}, served(q))
}

func TestItemsThatWereDelayedAreServedInTurnToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		defer q.ShutDown()
		for i := range 1000 {
			q.AddAfter(in("hostile", fmt.Sprint(i)), time.Second)
		}
		q.AddRateLimited(in("quiet", "1"))
		q.AddAfter(in("quiet", "2"), 2*time.Second)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Equal(t, 1002, q.Len())
		order := served(q)
		assert.Contains(t, order[:4], "quiet/1")
		assert.Contains(t, order[:4], "quiet/2")
	})
}

func TestNothingIsKeptOfWhatWasServed(t *testing.T) {
	stored := newTurns(func(k key) string { return k.Namespace })
	for round := range 100 {
		for i := range 10 {
			stored.Push(in(fmt.Sprint("namespace ", round, i%3), fmt.Sprint(i)))
		}
		for stored.Len() > 0 {
			stored.Pop()
		}
	}
	assert.Empty(t, stored.items)
	assert.Empty(t, stored.order)
}

// Every item that is added comes out at least once after that, and never twice at a time.
func TestManyAddAndServe(t *testing.T) {
	const namespaces, names, adders, workers = 5, 7, 4, 4
	q := newQueue()
	var lock sync.Mutex
	busy, last := map[key]bool{}, map[key]int{}
	var adding, working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				lock.Lock()
				assert.False(t, busy[item], "%s is worked on twice", item)
				busy[item] = true
				last[item]++
				lock.Unlock()
				lock.Lock()
				busy[item] = false
				lock.Unlock()
				q.Done(item)
			}
		})
	}
	for range adders {
		adding.Go(func() {
			for i := range 1000 {
				q.Add(in(fmt.Sprint(i%namespaces), fmt.Sprint(i%names)))
			}
		})
	}
	adding.Wait()
	q.ShutDownWithDrain()
	working.Wait()
	assert.Len(t, last, namespaces*names)
}

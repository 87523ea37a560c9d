// Package statusbudget bounds what the API server pays for what is written for people, such as statuses, so that it has time for
// the writes that start pods.
//
// Each program has one Budget: a rate limiter that the worker of a fair queue waits for. What each controller writes in each namespace
// is served in turn. So a write waits for those of its own controller and namespace that came before it, and for at most one of each
// other for each of these. A large write counts as several small ones. Writes that start pods do not ask.
package statusbudget

import (
	"context"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"example.com/podsequence/internal/fairqueue"
)

const (
	// DefaultTotal is how many small writes a program makes for people in a second by default. A small write takes the
	// API server about 4 ms of processor time. With twice as many, a tenant who does all that his quota allows slows down on two
	// cores what pods wait for, see docs/proof/tenants.md.
	DefaultTotal = 10

	// Burst is how many of them come at once after a pause, as a multiple of what may be written in a second.
	Burst = 20
)

// Turns say when what a controller writes for people may be written.
type Turns interface {
	// Turn reports whether an object's write, which is due, may be made now: that is paid for then. Otherwise the controller is asked
	// to look at the object again when it may. The cost is how many small writes it is equal to.
	Turn(object types.NamespacedName, cost int) bool
	// Forget withdraws an object's write, because it is not due any more or was made without being asked for.
	Forget(object types.NamespacedName)
}

// Budget bounds the writes of one program. It may be used concurrently.
type Budget struct {
	limiter *rate.Limiter
	queue   workqueue.TypedRateLimitingInterface[claim]

	mu      sync.Mutex
	users   int
	waiting map[claim]int // the costs
	granted map[claim]struct{}
}

// claim is a write of an object. Objects of different kinds may have the same name.
type claim struct {
	by     *turns
	object types.NamespacedName
}

// New returns a Budget of so many small writes a second. Those that wait are not served until Start.
func New(perSecond int) *Budget {
	return &Budget{
		limiter: rate.NewLimiter(rate.Limit(perSecond), Burst*perSecond),
		queue: fairqueue.By(func(c claim) string { return c.by.name + "/" + c.object.Namespace })(
			"podsequence_informational_writes", workqueue.DefaultTypedControllerRateLimiter[claim]()),
		waiting: map[claim]int{}, granted: map[claim]struct{}{},
	}
}

// For returns the turns of a controller that looks at an object again when again is called.
func (b *Budget) For(again func(object types.NamespacedName)) Turns {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.users++
	return &turns{b, strconv.Itoa(b.users), again}
}

// Start serves those who wait until the context ends.
func (b *Budget) Start(ctx context.Context) error {
	context.AfterFunc(ctx, b.queue.ShutDown)
	defer b.queue.ShutDown()
	for {
		c, shutdown := b.queue.Get()
		if shutdown {
			return nil
		}
		if cost := b.cost(c); cost > 0 {
			if b.limiter.WaitN(ctx, cost) != nil {
				return nil // the context has ended
			}
			b.grant(c)
		}
		b.queue.Done(c)
	}
}

// cost is that of a write that waits; 0 if it was withdrawn.
func (b *Budget) cost(c claim) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiting[c]
}

func (b *Budget) grant(c claim) {
	b.mu.Lock()
	_, waits := b.waiting[c]
	if waits {
		delete(b.waiting, c)
		b.granted[c] = struct{}{}
	}
	b.mu.Unlock()
	if waits {
		c.by.again(c.object)
	}
}

// turns are the Turns of a controller.
type turns struct {
	*Budget
	name  string
	again func(types.NamespacedName)
}

// Turn implements Turns. While nothing waits it does not go through the queue.
func (t *turns) Turn(object types.NamespacedName, cost int) bool {
	c := claim{t, object}
	cost = min(cost, t.limiter.Burst()) // more is never there
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, granted := t.granted[c]; granted {
		delete(t.granted, c)
		return true
	}
	if len(t.waiting) == 0 && t.limiter.AllowN(time.Now(), cost) {
		return true
	}
	if _, waits := t.waiting[c]; !waits {
		t.waiting[c] = cost
		t.queue.Add(c)
	}
	return false
}

// Forget implements Turns.
func (t *turns) Forget(object types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiting, claim{t, object})
	delete(t.granted, claim{t, object})
}

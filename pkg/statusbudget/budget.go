// Package statusbudget bounds what the API server pays for what is written for people, such as statuses, so that it has time for
// the writes that start pods.
//
// It limits how many small statuses of a namespace are written in a second, and how many at once after a pause. A large status
// counts as several small ones. All namespaces together have a limit as well, in fair shares: see Shared. A writer that may not
// write yet learns when to come back, and then finds the write paid for.
package statusbudget

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// DefaultPerNamespace is how many small statuses of one namespace are written in a second if nobody says otherwise.
const DefaultPerNamespace = 10

// Burst is how many statuses of one namespace may be written at once after a pause if nobody says otherwise, as a multiple of what
// may be written in a second.
const Burst = 2

// Budget is shared by all who write statuses of one kind. It may be used concurrently.
type Budget struct {
	clock clock.PassiveClock
	// shared bounds the writes of all namespaces and kinds. It may be nil.
	shared *Shared
	// perNamespace is how many writes of small statuses a second a namespace may have, and burst how many at once after a pause.
	perNamespace rate.Limit
	burst        int

	mu       sync.Mutex
	turns    map[types.NamespacedName]time.Time // when an object that waits for others of its namespace may be written
	limiters map[string]*rate.Limiter           // by namespace; one that is not there is not touched
	crowd    int                                // how many limiters there may be before those that are not touched are dropped
}

// New returns a Budget of so many small statuses a second for each namespace, and Burst times as many at once after a pause. If
// shared is not nil, they are also part of what that allows.
func New(clock clock.PassiveClock, shared *Shared, perNamespace int) *Budget {
	return NewWithBurst(clock, shared, perNamespace, Burst*perNamespace)
}

// NewWithBurst is New with so many small statuses at once after a pause.
func NewWithBurst(clock clock.PassiveClock, shared *Shared, perNamespace, burst int) *Budget {
	return &Budget{
		clock: clock, shared: shared, perNamespace: rate.Limit(perNamespace), burst: burst,
		turns: map[types.NamespacedName]time.Time{}, limiters: map[string]*rate.Limiter{},
	}
}

// Turn returns how long the write of an object's status, which is due, has to wait for those of others. The cost is how many
// small statuses it is equal to. Once Turn returns 0 the status is to be written: that is paid for.
func (b *Budget) Turn(key types.NamespacedName, cost int) time.Duration {
	return b.TurnWithEvents(key, cost, 0)
}

// TurnWithEvents is Turn for a status that events follow. Of what all namespaces share, each event costs as much as a small
// status.
func (b *Budget) TurnWithEvents(key types.NamespacedName, cost, events int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	wait := b.wait(key, cost)
	if wait == 0 && b.shared != nil {
		wait = b.shared.turn(claimKey{b, key}, cost+events)
	}
	if wait == 0 {
		delete(b.turns, key)
	}
	return wait
}

// TurnToAct is Turn for a write that pods wait for. It waits for writes of its own namespace only.
func (b *Budget) TurnToAct(key types.NamespacedName, cost int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	wait := b.wait(key, cost)
	if wait == 0 {
		b.forget(key)
	}
	return wait
}

// wait returns how long an object has to wait for others of its namespace. That it need not is remembered.
func (b *Budget) wait(key types.NamespacedName, cost int) time.Duration {
	now := b.clock.Now()
	at, ok := b.turns[key]
	if !ok {
		limiter := b.limiter(key.Namespace, now)
		at = now.Add(limiter.ReserveN(now, min(cost, limiter.Burst())).DelayFrom(now)) // more than a burst is never granted
		b.turns[key] = at
	}
	return max(0, at.Sub(now))
}

// limiter is that of a namespace.
func (b *Budget) limiter(namespace string, now time.Time) *rate.Limiter {
	if limiter := b.limiters[namespace]; limiter != nil {
		return limiter
	}
	if len(b.limiters) >= b.crowd {
		maps.DeleteFunc(b.limiters, func(_ string, l *rate.Limiter) bool { return l.TokensAt(now) >= float64(b.burst) })
		b.crowd = max(64, 2*len(b.limiters))
	}
	b.limiters[namespace] = rate.NewLimiter(b.perNamespace, b.burst)
	return b.limiters[namespace]
}

// Forget is for objects that are gone.
func (b *Budget) Forget(key types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(key)
}

func (b *Budget) forget(key types.NamespacedName) {
	delete(b.turns, key)
	if b.shared != nil {
		b.shared.forget(claimKey{b, key})
	}
}

package statusbudget

import (
	"container/heap"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// DefaultTotal is how many small writes a program makes for people in a second, in all namespaces together, if nobody says
// otherwise. A small write takes the API server about 4 ms of processor time, so that is a tenth of one processor.
const DefaultTotal = 20

// totalBurst is how many of them come at once after a pause, as a multiple of what may be written in a second.
const totalBurst = 5

// tolerance is how much a balance may be wrong because it is a sum of fractions.
const tolerance = 1e-6

// Shared bounds what a program writes only for people: statuses, conditions that say what a pod waits for, events. All its Budgets
// share it, and it serves their namespaces in fair shares. A namespace that asks for little is served next, however much others
// ask for; what it does not use is left to them. Without it, whoever has many namespaces would have as many budgets.
//
// Writes that have pods start do not ask it.
type Shared struct {
	clock            clock.PassiveClock
	perSecond, burst float64

	mu sync.Mutex
	// balance is what may be spent as of the time at. What is saved for a large write goes to a small one that comes before it.
	balance float64
	at      time.Time
	// claims are the writes that were asked for and not made yet. Those that are not paid for are also in the queue.
	claims map[claimKey]*claim
	queue  claimQueue
	// served is the highest tag that was served, and ends has the tag at which the last claim of a namespace ends. See claim. A
	// namespace whose end is before served by its credit need not be there.
	served float64
	ends   map[string]float64
	crowd  int // how many ends there may be before those that are not needed are dropped
	asked  int // counts claims
}

// claimKey tells apart objects of different kinds, which have different Budgets, but the same name.
type claimKey struct {
	budget *Budget
	object types.NamespacedName
}

// claim is a write that waits. The claims of a namespace follow one another on a scale of costs: each has the tag at which the one
// before it ends. The lowest tag is served first, so namespaces that always wait get equal costs served. The tag is before that of
// the claim that was served last by no more than a credit: a namespace that asked for less than its share is served before those
// that always wait, but does not save up more than that.
type claim struct {
	key  claimKey
	cost float64
	tag  float64
	nth  int // of those with the same tag the first is served first
	paid bool
}

// NewShared returns a Shared of so many small writes a second.
func NewShared(clock clock.PassiveClock, perSecond int) *Shared {
	burst := float64(totalBurst * perSecond)
	return &Shared{
		clock: clock, perSecond: float64(perSecond), burst: burst, balance: burst, at: clock.Now(),
		claims: map[claimKey]*claim{}, ends: map[string]float64{},
	}
}

// turn is Budget.Turn. The time that it returns is an estimate: namespaces that begin to ask meanwhile are served as well.
func (s *Shared) turn(key claimKey, cost int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serve()
	c, ok := s.claims[key]
	if !ok {
		c = s.claim(key, float64(cost))
		s.serve()
	}
	if c.paid {
		delete(s.claims, key)
		return 0
	}
	return s.estimate(c)
}

func (s *Shared) claim(key claimKey, cost float64) *claim {
	namespace := key.object.Namespace
	s.asked++
	cost = min(cost, s.burst) // more is never there
	c := &claim{key: key, cost: cost, tag: s.startOf(namespace), nth: s.asked}
	s.claims[key] = c
	heap.Push(&s.queue, c)
	if len(s.ends) >= s.crowd {
		maps.DeleteFunc(s.ends, func(_ string, end float64) bool { return end <= s.served-s.credit() })
		s.crowd = max(64, 2*len(s.ends))
	}
	s.ends[namespace] = c.tag + cost
	return c
}

// credit is what all namespaces together may write in a second.
func (s *Shared) credit() float64 { return s.perSecond }

// startOf returns the tag of a namespace's next claim.
func (s *Shared) startOf(namespace string) float64 {
	earliest := s.served - s.credit()
	if end, ok := s.ends[namespace]; ok {
		return max(earliest, end)
	}
	return earliest
}

// serve pays for what could be paid for until now.
func (s *Shared) serve() {
	now := s.clock.Now()
	s.balance += s.perSecond * now.Sub(s.at).Seconds()
	s.at = now
	for len(s.queue) > 0 && (s.balance >= s.queue[0].cost-tolerance || s.claims[s.queue[0].key] != s.queue[0]) {
		c := heap.Pop(&s.queue).(*claim)
		if s.claims[c.key] != c {
			continue // forgotten
		}
		c.paid = true
		s.balance -= c.cost
		s.served = max(s.served, c.tag)
	}
	s.balance = min(s.balance, s.burst)
	if len(s.queue) == 0 {
		clear(s.ends) // nobody waits, so nobody is ahead of anybody
		s.served = 0
	}
}

// estimate returns how long it takes to serve a claim and what comes before it; at least the time of one small write, so that nobody
// asks all the time.
func (s *Shared) estimate(c *claim) time.Duration {
	ahead := 0.0
	for _, end := range s.ends {
		ahead += max(0, min(end, c.tag)-s.served)
	}
	return time.Duration(max(1, ahead+c.cost-s.balance) / s.perSecond * float64(time.Second))
}

// forget withdraws a claim.
func (s *Shared) forget(key claimKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.claims, key)
}

// claimQueue has the lowest tag first. It implements heap.Interface.
type claimQueue []*claim

// Len implements heap.Interface.
func (q claimQueue) Len() int { return len(q) }

// Less implements heap.Interface.
func (q claimQueue) Less(i, j int) bool {
	if q[i].tag != q[j].tag {
		return q[i].tag < q[j].tag
	}
	return q[i].nth < q[j].nth
}

// Swap implements heap.Interface.
func (q claimQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *claimQueue) Push(c any) { *q = append(*q, c.(*claim)) }

// Pop implements heap.Interface.
func (q *claimQueue) Pop() any {
	last := len(*q) - 1
	c := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return c
}

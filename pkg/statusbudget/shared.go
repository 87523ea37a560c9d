package statusbudget

import (
	"container/heap"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// DefaultTotal is how many small writes a program makes for people in a second, in all namespaces together, if nobody says
// otherwise. A small write takes the API server about 4 ms of processor time. With twice as many, a tenant who does all that his
// quota allows slows down on two cores what pods wait for, see docs/contributing/tenants.md.
const DefaultTotal = 10

// totalBurst is how many of them come at once after a pause, as a multiple of what may be written in a second.
const totalBurst = 20

// tolerance is how much a balance may be wrong because it is a sum of fractions.
const tolerance = 1e-6

// Shared bounds what a program writes only for people: statuses, conditions that say what a pod waits for, events. All its Budgets
// share it, and it serves their namespaces in fair shares. A namespace that asks for little is served next, however much others
// ask for; what it does not use is left to them. Without it, somebody with many namespaces would have as many budgets.
//
// Writes that start pods do not ask it.
type Shared struct {
	clock            clock.PassiveClock
	perSecond, burst float64

	mu sync.Mutex
	// balance is what may be spent as of the time at. What is saved for a large write goes to a small one that comes before it.
	balance float64
	at      time.Time
	// claims are the writes that were asked for and not made yet, paid for or not.
	claims map[claimKey]*claim
	// lines are those of namespaces, and queue are the lines in which somebody waits.
	lines map[string]*line
	queue lineQueue
	// served is the highest tag that was served. A line whose tag is before it by its credit need not be there, unless somebody waits.
	served float64
	crowd  int // how many lines there may be before those that are not needed are dropped
	asked  int // counts claims
}

// claimKey tells apart objects of different kinds, which have different Budgets, but the same name.
type claimKey struct {
	budget *Budget
	object types.NamespacedName
}

// claim is a write that waits.
type claim struct {
	key  claimKey
	cost float64
	// before is what its namespace asked for before it and did not withdraw.
	before float64
	nth    int
	paid   bool
}

// line is the queue of a namespace. Its tag, on a scale of costs, is where what it was served ends: the lowest tag is served next, so
// namespaces that always wait get equal costs served. When somebody begins to wait it is before that which was served last by no more
// than a credit: a namespace that asked for less than its share is served before those that always wait, but does not save up more
// than that.
type line struct {
	tag     float64
	waiting []*claim
	asked   float64 // the cost of all claims that were not withdrawn
	got     float64 // the cost of those that are paid for
	index   int     // in the queue; -1 while nobody waits
}

// NewShared returns a Shared of so many small writes a second.
func NewShared(clock clock.PassiveClock, perSecond int) *Shared {
	burst := float64(totalBurst * perSecond)
	return &Shared{
		clock: clock, perSecond: float64(perSecond), burst: burst, balance: burst, at: clock.Now(),
		claims: map[claimKey]*claim{}, lines: map[string]*line{},
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
	l := s.line(key.object.Namespace)
	s.asked++
	cost = min(cost, s.burst) // more is never there
	c := &claim{key: key, cost: cost, before: l.asked, nth: s.asked}
	s.claims[key] = c
	l.asked += cost
	l.waiting = append(l.waiting, c)
	if l.index < 0 {
		l.tag = max(l.tag, s.served-s.credit())
		heap.Push(&s.queue, l)
	}
	return c
}

// credit is what all namespaces together may write in a second.
func (s *Shared) credit() float64 { return s.perSecond }

// line returns that of a namespace.
func (s *Shared) line(namespace string) *line {
	if l := s.lines[namespace]; l != nil {
		return l
	}
	if len(s.lines) >= s.crowd {
		maps.DeleteFunc(s.lines, func(_ string, l *line) bool { return l.index < 0 && l.tag <= s.served-s.credit() })
		s.crowd = max(64, 2*len(s.lines))
	}
	l := &line{tag: s.served - s.credit(), index: -1}
	s.lines[namespace] = l
	return l
}

// serve pays for what could be paid for until now.
func (s *Shared) serve() {
	now := s.clock.Now()
	s.balance += s.perSecond * now.Sub(s.at).Seconds()
	s.at = now
	for len(s.queue) > 0 && s.balance >= s.queue[0].waiting[0].cost-tolerance {
		l := s.queue[0]
		c := l.waiting[0]
		c.paid = true
		s.balance -= c.cost
		s.served = max(s.served, l.tag)
		l.tag += c.cost
		l.got += c.cost
		l.waiting[0] = nil
		l.waiting = l.waiting[1:]
		s.requeueLine(l)
	}
	s.balance = min(s.balance, s.burst)
	if len(s.queue) == 0 {
		clear(s.lines) // nobody waits, so nobody is ahead of anybody
		s.served = 0
	}
}

// requeueLine moves a line to its place in the queue after somebody in it was served or stopped waiting. It removes a line in which
// nobody waits.
func (s *Shared) requeueLine(l *line) {
	if len(l.waiting) > 0 {
		heap.Fix(&s.queue, l.index)
		return
	}
	heap.Remove(&s.queue, l.index)
	l.waiting, l.asked, l.got = nil, 0, 0
}

// maxEstimate bounds how long somebody does not ask again: others may withdraw what is ahead.
const maxEstimate = 30 * time.Second

// estimate returns how long it takes to serve a claim and what comes before it; at least the time of one small write, so that nobody
// asks all the time.
func (s *Shared) estimate(c *claim) time.Duration {
	own := s.lines[c.key.object.Namespace]
	tag := own.tag + c.before - own.got
	ahead := 0.0
	for _, l := range s.queue {
		if l.tag < tag {
			ahead += min(tag-l.tag, l.asked-l.got) + 1 // somebody may join it meanwhile
		}
	}
	return min(maxEstimate, time.Duration(max(1, ahead+c.cost-s.balance)/s.perSecond*float64(time.Second)))
}

// forget withdraws a claim. What is not written is no part of a namespace's share.
func (s *Shared) forget(key claimKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.claims[key]
	if !ok {
		return
	}
	delete(s.claims, key)
	if c.paid {
		return
	}
	l := s.lines[key.object.Namespace]
	i, _ := slices.BinarySearchFunc(l.waiting, c.nth, func(c *claim, nth int) int { return c.nth - nth })
	l.waiting = slices.Delete(l.waiting, i, i+1)
	l.asked -= c.cost
	for _, later := range l.waiting[i:] {
		later.before -= c.cost
	}
	s.requeueLine(l)
}

// lineQueue sorts the lowest tag first. Among equal tags, the line comes first in which somebody has waited longer. It implements
// heap.Interface.
type lineQueue []*line

// Len implements heap.Interface.
func (q lineQueue) Len() int { return len(q) }

// Less implements heap.Interface.
func (q lineQueue) Less(i, j int) bool {
	if q[i].tag != q[j].tag {
		return q[i].tag < q[j].tag
	}
	if len(q[i].waiting) == 0 || len(q[j].waiting) == 0 {
		return len(q[i].waiting) < len(q[j].waiting) // one is about to be removed
	}
	return q[i].waiting[0].nth < q[j].waiting[0].nth
}

// Swap implements heap.Interface.
func (q lineQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push implements heap.Interface.
func (q *lineQueue) Push(l any) {
	l.(*line).index = len(*q)
	*q = append(*q, l.(*line))
}

// Pop implements heap.Interface.
func (q *lineQueue) Pop() any {
	last := len(*q) - 1
	l := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	l.index = -1
	return l
}

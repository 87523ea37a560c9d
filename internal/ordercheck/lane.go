package ordercheck

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// lane is how far a sequence has come across the cluster, or on one node.
//
// Of two things the referee only has bounds: an event happened between its earliest time and its arrival. It takes
// whichever bound speaks for the scheduler.
type lane struct {
	rules  *rules
	spec   *sequenceFacts
	groups []progress
	// released are the groups that a suspended sequence has released; nil for one that is not suspended.
	released sets.Set[int]
	// begun is when the first group was released, at the earliest, as far as the sequence has a say.
	begun time.Time
	// fresh says that its groups are weighed for the first time. A group that is satisfied then has been since its pods
	// turned ready or, if it needs none, since it was asked for.
	fresh bool
	// asked is when the groups were asked for: by the creation of the sequence, or by an edit.
	asked time.Time
}

// progress is how a group comes along.
type progress struct {
	satisfied  bool
	skipped    bool
	since      time.Time // when satisfied: since when, at the earliest
	began      time.Time // when satisfied: since when, at the latest
	releasedAt time.Time // at the earliest; zero when it is not
	heldSince  time.Time // under Continuous, when it was released: since when, at the latest, an earlier group is not passed
	// wasSatisfied says that it was satisfied after its release, and broke: it has no time-out any more.
	wasSatisfied bool
	passedUntil  time.Time // up to when it was passed, at the latest, when it no longer is
	best         tally     // the nearest it has come to being satisfied
	// passed reports that it has been passed at some time, and passedAt when, at the earliest; zero if nobody saw it.
	passed   bool
	passedAt time.Time
}

func newLane(spec *sequenceFacts, rules *rules) *lane {
	l := &lane{rules: rules, spec: spec, groups: make([]progress, len(spec.groups)), begun: spec.created}
	l.fresh, l.asked = true, spec.created
	if spec.suspended {
		l.released = sets.New[int]()
	}
	l.releaseRoots(func(int) time.Time { return spec.created })
	return l
}

// mayRelease reports whether no suspension keeps a group from being released.
func (l *lane) mayRelease(g int) bool { return l.released == nil || l.released.Has(g) }

// awaits returns the first group that keeps another from being released, and whether there is one. Nobody waits for a group
// with skip, but for those ahead of it.
func (l *lane) awaits(group int) (awaited int, waits bool) {
	for _, g := range l.spec.groups[group].ahead {
		if !l.groups[g].passed && !l.spec.groups[g].skip {
			return g, true
		}
	}
	return 0, false
}

// isOpen reports whether a group waits for no other.
func (l *lane) isOpen(g int) bool {
	_, waits := l.awaits(g)
	return !waits
}

// releaseRoots says when the groups were released that no other is ahead of.
func (l *lane) releaseRoots(at func(group int) time.Time) {
	for g := range l.groups {
		if len(l.spec.groups[g].ahead) == 0 && l.mayRelease(g) {
			l.groups[g].releasedAt = later(l.begun, at(g))
		}
	}
}

// hasReleased says that a suspended sequence has released a group, whenever that was, and so all that are ahead of it.
func (l *lane) hasReleased(group int) {
	if l.released == nil {
		return
	}
	l.released.Insert(group).Insert(l.spec.groups[group].ahead...)
	for g := range l.released {
		if l.isOpen(g) && l.groups[g].releasedAt.IsZero() {
			l.groups[g].releasedAt = l.begun
		}
	}
}

// hasReleasedAllOpen says so of all groups that wait for no other.
func (l *lane) hasReleasedAllOpen() {
	for g := range l.groups {
		if l.isOpen(g) {
			l.hasReleased(g)
		}
	}
}

// inherit takes over what an edit has not changed. matches has for each group the one of before that is defined alike, or -1.
func (l *lane) inherit(old *lane, matches []int, e event) {
	before := func(g int) int { // the group of before that stands for a group: the one defined alike, or else the one in its place
		switch {
		case matches[g] >= 0:
			return matches[g]
		case g < len(old.groups):
			return g
		}
		return -1
	}
	for g, o := range matches {
		switch {
		case o >= 0:
			l.groups[g] = old.groups[o]
			if !old.spec.continuous && !old.spec.timed && old.groups[o].passed {
				l.groups[g].satisfied = false // nobody has looked since it was passed
			}
		default:
			l.groups[g].releasedAt = l.releasedBefore(g, old, matches)
		}
	}
	l.asked = e.earliest
	switch {
	case l.spec.suspended && old.spec.suspended:
		for g := range l.groups {
			if o := before(g); o >= 0 && old.released.Has(o) {
				l.released.Insert(g)
			}
		}
	case l.spec.suspended:
		for g := range l.groups {
			if !slices.ContainsFunc(l.spec.groups[g].ahead, func(a int) bool {
				o := before(a)
				return o < 0 || !old.groups[o].passed && !old.spec.groups[o].skip
			}) {
				l.released.Insert(g)
			}
		}
	}
	l.begun = old.begun
	if old.released != nil && old.released.Len() == 0 && (l.released == nil || l.released.Len() > 0) {
		l.begun = e.earliest
	}
	l.releaseRoots(func(int) time.Time { return l.begun })
	for g := range l.groups {
		if l.isOpen(g) && l.mayRelease(g) && l.groups[g].releasedAt.IsZero() {
			l.groups[g].releasedAt = e.earliest
		}
	}
}

// releasedBefore is when a group was released that an edit has changed, but not what is ahead of it: those released it.
func (l *lane) releasedBefore(g int, old *lane, matches []int) time.Time {
	ahead := sets.New[int]()
	for _, a := range l.spec.groups[g].ahead {
		ahead.Insert(matches[a]) // -1 is ahead of nothing
	}
	instead := func(o int) bool {
		return !slices.Contains(matches, o) && ahead.Equal(sets.New(old.spec.groups[o].ahead...))
	}
	if g < len(old.groups) && instead(g) {
		return old.groups[g].releasedAt
	}
	for o := range old.groups {
		if instead(o) {
			return old.groups[o].releasedAt
		}
	}
	return time.Time{}
}

// letsOn says whether a group keeps none waiting by now, and since when at the earliest: it is passed, or nobody waits for it.
func (l *lane) letsOn(g int, now time.Time) (time.Time, bool) {
	if l.spec.groups[g].skip {
		return l.groups[g].releasedAt, true
	}
	return l.passedAt(g, now)
}

// passedAt says whether a group is passed by now, and since when at the earliest.
func (l *lane) passedAt(g int, now time.Time) (time.Time, bool) {
	p, group := &l.groups[g], &l.spec.groups[g]
	if p.skipped {
		return p.releasedAt, true
	}
	if p.satisfied {
		if group.wait == 0 {
			return p.since, true
		}
		if over := nextFullSecond(p.since).Add(group.wait); !over.After(now) {
			return over, true
		}
	}
	if !group.goesOn {
		return time.Time{}, false
	}
	return l.timedOut(g, now)
}

// settle passes the groups that are passed by now, in order, and notes which are held.
func (l *lane) settle(now time.Time) {
	l.pass(now)
	if l.spec.continuous {
		l.hold(now)
	}
}

func (l *lane) pass(now time.Time) {
	for g := range l.groups {
		p := &l.groups[g]
		if p.passed || !l.isOpen(g) {
			continue
		}
		if p.releasedAt.IsZero() && l.mayRelease(g) {
			p.releasedAt = l.opened(g)
		}
		if at, passed := l.passedAt(g, now); passed {
			p.passed, p.passedAt = true, later(p.releasedAt, at)
		}
	}
}

// opened is when the last of the groups ahead let a group on. If nobody saw that of one of them, it was no earlier than the
// sequence was created.
func (l *lane) opened(group int) time.Time {
	var at time.Time
	for _, g := range l.spec.groups[group].ahead {
		on := l.groups[g].passedAt
		if !l.groups[g].passed {
			on = l.groups[g].releasedAt // nobody waits for it
		}
		if on.IsZero() {
			return l.spec.created
		}
		at = later(at, on)
	}
	return at
}

// trust has a group passed that was not seen to pass under this definition.
func (l *lane) trust(g int) { l.groups[g].passed, l.groups[g].passedAt = true, time.Time{} }

// update takes in how a group stands after an event.
func (l *lane) update(g int, now outcome, e event, n news) {
	p := &l.groups[g]
	_, was := l.letsOn(g, e.arrived)
	switch {
	case now.satisfied && p.satisfied:
		// Unless the others were enough meanwhile, the group broke with the pod, even if only the end of that was seen.
		if !n.again.IsZero() && !now.since.Before(n.again) {
			p.since = later(p.since, n.again)
		}
	case now.satisfied:
		p.since, p.began = l.satisfiedSince(g, now, e, n), e.arrived
	case p.satisfied && !now.skipped:
		l.noteBreak(g, e.arrived)
	}
	p.satisfied, p.skipped = now.satisfied, now.skipped
	if _, is := l.letsOn(g, e.arrived); was && !is {
		p.passedUntil = e.arrived
	}
	if now.tally.ready > p.best.ready || p.best.ready == 0 && now.tally.of > 0 {
		p.best = now.tally
	}
}

// satisfiedSince is since when a group is satisfied, at the earliest, that was not before an event.
func (l *lane) satisfiedSince(g int, now outcome, e event, n news) time.Time {
	switch {
	case !l.fresh && !n.ready && !l.groups[g].skipped:
		return e.earliest
	case !now.since.IsZero():
		return earlier(e.earliest, now.since)
	case l.fresh:
		return earlier(e.earliest, l.asked)
	}
	return e.earliest
}

// passedUntil has all groups passed up to a time, as far as anybody knows.
func (l *lane) passedUntil(at time.Time) {
	for g := range l.groups {
		l.groups[g].passedUntil = at
	}
}

// passedSince says whether a group was passed at some moment between two times.
func (l *lane) passedSince(g int, from, now time.Time) bool {
	_, is := l.letsOn(g, now)
	return is || !l.groups[g].passedUntil.IsZero() && !l.groups[g].passedUntil.Before(from)
}

// nextFullSecond is from when waits are counted, because the API cuts times off to seconds.
func nextFullSecond(t time.Time) time.Time { return t.Truncate(time.Second).Add(time.Second) }

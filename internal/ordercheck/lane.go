package ordercheck

import "time"

// lane is how far a sequence has come across the cluster, or on one node.
//
// Of two things the referee only has bounds: an event happened between its earliest time and its arrival. It takes
// whichever bound speaks for the scheduler.
type lane struct {
	rules  *rules
	spec   *sequenceFacts
	groups []progress
	// passed says that groups 0 to passed-1 have been passed at some time, one after another.
	passed int
	// released is the last group that a suspended sequence has released; -1 for none.
	released int
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
}

func newLane(spec *sequenceFacts, rules *rules) *lane {
	l := &lane{rules: rules, spec: spec, groups: make([]progress, len(spec.groups)), released: len(spec.groups), begun: spec.created}
	l.fresh, l.asked = true, spec.created
	if spec.suspended {
		l.released = -1
	}
	l.releaseFirst(spec.created)
	return l
}

// releaseFirst says when the first group was released.
func (l *lane) releaseFirst(at time.Time) {
	if l.released >= 0 && len(l.groups) > 0 {
		l.groups[0].releasedAt = later(l.begun, at)
	}
}

// hasReleased says that a suspended sequence has released a group, whenever that was.
func (l *lane) hasReleased(group int) {
	if group <= l.released {
		return
	}
	l.released = group
	for g := range min(l.passed, group, len(l.groups)-1) + 1 {
		if l.groups[g].releasedAt.IsZero() {
			l.groups[g].releasedAt = l.begun
		}
	}
}

// inherit takes over what an edit has not changed: the leading groups that it left alone.
func (l *lane) inherit(old *lane, shared int, e event) {
	copy(l.groups[:shared], old.groups)
	l.asked = e.earliest
	if !old.spec.continuous && !old.spec.timed {
		// Nobody has looked at these since they were passed.
		for g := range min(old.passed, shared) {
			l.groups[g].satisfied = false
		}
	}
	l.passed = min(old.passed, shared)
	if shared < len(l.groups) && shared < len(old.groups) {
		// It is the groups before it that released it.
		l.groups[shared].releasedAt = old.groups[shared].releasedAt
	}
	switch {
	case l.spec.suspended && old.spec.suspended:
		l.released = old.released
	case l.spec.suspended:
		l.released = old.passed
	}
	l.begun = old.begun
	if old.released < 0 && l.released >= 0 {
		l.begun = e.earliest
	}
	l.releaseFirst(l.begun)
	for g := range l.groups {
		if g <= l.passed && g <= l.released && l.groups[g].releasedAt.IsZero() {
			l.groups[g].releasedAt = e.earliest
		}
	}
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
	for l.passed < len(l.groups) {
		at, passed := l.passedAt(l.passed, now)
		if !passed {
			return
		}
		at = later(l.groups[l.passed].releasedAt, at)
		l.passed++
		l.release(at)
	}
}

// skipTo has groups passed that were not seen to pass under this definition. When they released the next one, nobody can say:
// it was no earlier than the sequence was created.
func (l *lane) skipTo(passed int, created time.Time) {
	l.passed = passed
	l.release(created)
}

// release gives the group that comes next the time that it was released at.
func (l *lane) release(at time.Time) {
	if g := l.passed; g < len(l.groups) && g <= l.released && l.groups[g].releasedAt.IsZero() {
		l.groups[g].releasedAt = at
	}
}

// update takes in how a group stands after an event.
func (l *lane) update(g int, now outcome, e event, n news) {
	p := &l.groups[g]
	_, was := l.passedAt(g, e.arrived)
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
	if _, is := l.passedAt(g, e.arrived); was && !is {
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
	_, is := l.passedAt(g, now)
	return is || !l.groups[g].passedUntil.IsZero() && !l.groups[g].passedUntil.Before(from)
}

// nextFullSecond is from when waits are counted, because the API cuts times off to seconds.
func nextFullSecond(t time.Time) time.Time { return t.Truncate(time.Second).Add(time.Second) }

package ordercheck

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// domain is how far a sequence has come across the cluster, or on one node.
//
// The referee knows when things happened only within bounds: an event happened between its earliest time and its arrival. It takes
// whichever bound speaks for the scheduler.
type domain struct {
	rules  *rules
	spec   *sequenceFacts
	groups []progress
	// released are the groups that a suspended sequence has released; nil for one that is not suspended.
	released sets.Set[int]
	// firstReleased is when the first group was released, at the earliest, as far as the sequence has a say.
	firstReleased time.Time
	// fresh says that its groups are weighed for the first time. A group that is satisfied then has been since its pods
	// turned ready or, if it needs none, since it was asked for.
	fresh bool
	// asked is when the groups were asked for: by the creation of the sequence, or by an edit.
	asked time.Time
}

func newDomain(spec *sequenceFacts, rules *rules) *domain {
	d := &domain{rules: rules, spec: spec, groups: make([]progress, len(spec.groups)), firstReleased: spec.created}
	d.fresh, d.asked = true, spec.created
	if spec.suspended {
		d.released = sets.New[int]()
	}
	d.releaseRoots(func(int) time.Time { return spec.created })
	return d
}

// mayRelease reports whether no suspension keeps a group from being released.
func (d *domain) mayRelease(g int) bool { return d.released == nil || d.released.Has(g) }

// awaits returns the first group that keeps another from being released, and whether there is one. Nobody waits for a group
// with skip, but for those ahead of it.
func (d *domain) awaits(group int) (awaited int, waits bool) {
	for _, g := range d.spec.groups[group].ahead {
		if !d.groups[g].passed && !d.spec.groups[g].skip {
			return g, true
		}
	}
	return 0, false
}

// isOpen reports whether a group waits for no other.
func (d *domain) isOpen(g int) bool {
	_, waits := d.awaits(g)
	return !waits
}

// releaseRoots says when the groups were released that no other is ahead of.
func (d *domain) releaseRoots(at func(group int) time.Time) {
	for g := range d.groups {
		if len(d.spec.groups[g].ahead) == 0 && d.mayRelease(g) {
			d.groups[g].releasedAt = later(d.firstReleased, at(g))
		}
	}
}

// hasReleased says that a suspended sequence has released a group, whenever that was, and so all that are ahead of it.
func (d *domain) hasReleased(group int) {
	if d.released == nil {
		return
	}
	d.released.Insert(group).Insert(d.spec.groups[group].ahead...)
	for g := range d.released {
		if d.isOpen(g) && d.groups[g].releasedAt.IsZero() {
			d.groups[g].releasedAt = d.firstReleased
		}
	}
}

// hasReleasedAllOpen says so of all groups that wait for no other.
func (d *domain) hasReleasedAllOpen() {
	for g := range d.groups {
		if d.isOpen(g) {
			d.hasReleased(g)
		}
	}
}

// inherit takes over what an edit has not changed. For each group, matches is the group of the old domain that is defined alike,
// or -1.
func (d *domain) inherit(old *domain, matches []int, e event) {
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
			d.groups[g] = old.groups[o]
			if !old.spec.continuous && !old.spec.timed && old.groups[o].passed {
				d.groups[g].satisfied, d.groups[g].ripeAt = false, time.Time{} // nobody has looked since it was passed
			}
		default:
			d.groups[g].releasedAt = d.releasedBefore(g, old, matches)
		}
	}
	d.asked = e.earliest
	switch {
	case d.spec.suspended && old.spec.suspended:
		for g := range d.groups {
			if o := before(g); o >= 0 && old.released.Has(o) {
				d.released.Insert(g)
			}
		}
	case d.spec.suspended:
		for g := range d.groups {
			if !slices.ContainsFunc(d.spec.groups[g].ahead, func(a int) bool {
				o := before(a)
				return o < 0 || !old.groups[o].passed && !old.spec.groups[o].skip
			}) {
				d.released.Insert(g)
			}
		}
	}
	d.firstReleased = old.firstReleased
	if old.released != nil && old.released.Len() == 0 && (d.released == nil || d.released.Len() > 0) {
		d.firstReleased = e.earliest
	}
	d.releaseRoots(func(int) time.Time { return d.firstReleased })
	for g := range d.groups {
		if d.isOpen(g) && d.mayRelease(g) && d.groups[g].releasedAt.IsZero() {
			d.groups[g].releasedAt = e.earliest
		}
	}
}

// releasedBefore is when a group was released that an edit has changed, but not what is ahead of it: those released it.
func (d *domain) releasedBefore(g int, old *domain, matches []int) time.Time {
	ahead := sets.New[int]()
	for _, a := range d.spec.groups[g].ahead {
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

// letsOn reports whether a group keeps none waiting by now, and since when at the earliest: it is passed, or nobody waits for it.
func (d *domain) letsOn(g int, now time.Time) (time.Time, bool) {
	if d.spec.groups[g].skip {
		return d.groups[g].releasedAt, true
	}
	return d.passedAt(g, now)
}

// passedAt reports whether a group is passed by now, and since when at the earliest.
func (d *domain) passedAt(g int, now time.Time) (time.Time, bool) {
	p, group := &d.groups[g], &d.spec.groups[g]
	p.satisfyWhenSteady(now)
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
	return d.timedOut(g, now)
}

// settle passes the groups that are passed by now, in order, and notes which are held.
func (d *domain) settle(now time.Time) {
	d.pass(now)
	d.noteCompleted()
	if d.spec.continuous {
		d.hold(now)
	}
}

func (d *domain) pass(now time.Time) {
	for g := range d.groups {
		p := &d.groups[g]
		if p.passed || !d.isOpen(g) {
			continue
		}
		if p.releasedAt.IsZero() && d.mayRelease(g) {
			p.releasedAt = d.opened(g)
		}
		if at, passed := d.passedAt(g, now); passed {
			p.passed, p.passedAt = true, later(p.releasedAt, at)
		}
	}
}

// opened is when the last of the groups ahead let a group on. If nobody saw that of one of them, it was no earlier than the
// sequence was created.
func (d *domain) opened(group int) time.Time {
	var at time.Time
	for _, g := range d.spec.groups[group].ahead {
		on := d.groups[g].passedAt
		if !d.groups[g].passed {
			on = d.groups[g].releasedAt // nobody waits for it
		}
		if on.IsZero() {
			return d.spec.created
		}
		at = later(at, on)
	}
	return at
}

// assumePassed marks a group as passed that was not seen to pass under this definition.
func (d *domain) assumePassed(g int) { d.groups[g].passed, d.groups[g].passedAt = true, time.Time{} }

// update takes in how a group stands after an event.
func (d *domain) update(g int, now outcome, e event, n news) {
	p := &d.groups[g]
	_, was := d.letsOn(g, e.arrived)
	now = p.putOff(now, e.arrived)
	switch {
	case now.satisfied && p.satisfied:
		// Unless the others were enough meanwhile, the group broke with the pod, even if only the end of that was seen.
		if !n.again.IsZero() && !now.since.Before(n.again) {
			p.since = later(p.since, n.again)
		}
	case now.satisfied:
		p.since, p.began = d.satisfiedSince(g, now, e, n), e.arrived
	case p.satisfied && !now.skipped:
		d.noteBreak(g, e)
	}
	p.satisfied, p.skipped = now.satisfied, now.skipped
	if _, is := d.letsOn(g, e.arrived); was && !is {
		p.passedUntil = e.arrived
	}
	if now.count.ready > p.best.ready || p.best.ready == 0 && now.count.of > 0 {
		p.best = now.count
	}
}

// satisfiedSince is since when a group is satisfied, at the earliest, that was not before an event.
func (d *domain) satisfiedSince(g int, now outcome, e event, n news) time.Time {
	switch {
	case !d.fresh && !n.ready && !d.groups[g].skipped:
		return e.earliest
	case !now.since.IsZero():
		return earlier(e.earliest, now.since)
	case d.fresh:
		return earlier(e.earliest, d.asked)
	}
	return e.earliest
}

// passedUntil marks all groups as passed up to a time, as far as anybody knows.
func (d *domain) passedUntil(at time.Time) {
	for g := range d.groups {
		d.groups[g].passedUntil = at
	}
}

// passedSince reports whether a group was passed at some moment between two times.
func (d *domain) passedSince(g int, from, now time.Time) bool {
	_, is := d.letsOn(g, now)
	return is || !d.groups[g].passedUntil.IsZero() && !d.groups[g].passedUntil.Before(from)
}

// noteCompleted remembers which groups were complete when they were passed.
func (d *domain) noteCompleted() {
	for g := range d.groups {
		if p := &d.groups[g]; p.passed && p.satisfied && d.spec.groups[g].complete() && d.isOpen(g) {
			p.completed = true
		}
	}
}

// A time-out counts from the latest release of a group to the first time that it is satisfied. A scheduler may miss what
// lasts no longer than the tolerance, or while it is stopped: a group that was satisfied, held or suspended no longer than that
// may count as never having been.

// timedOut returns when the time of a group is over, and whether that is so by now. A group that has been satisfied since it
// was released has no time-out any more, but one that is satisfied too late stays passed until it breaks.
func (d *domain) timedOut(g int, now time.Time) (time.Time, bool) {
	p, group := &d.groups[g], &d.spec.groups[g]
	if group.timeout == 0 || p.releasedAt.IsZero() || p.wasSatisfied {
		return time.Time{}, false
	}
	deadline := nextFullSecond(later(p.releasedAt, p.lostAt)).Add(group.timeout)
	inTime := p.satisfied && !p.began.Add(tolerance).After(deadline)
	return deadline, !deadline.After(now) && !inTime
}

// noteBreak remembers of a group that breaks now that it was satisfied after its release, unless the scheduler may have
// missed that.
func (d *domain) noteBreak(g int, e event) {
	p, now := &d.groups[g], e.arrived
	if p.releasedAt.IsZero() {
		return
	}
	if !p.heldSince.IsZero() {
		now = p.heldSince
	}
	switch seen := later(p.began, p.releasedAt).Before(d.rules.windowBefore(now)); {
	case seen && d.spec.continuous:
		p.lostAt = later(p.lostAt, e.earliest)
	case seen:
		p.wasSatisfied = true
	}
}

// hold follows, under Continuous, which groups are held because one ahead of them is not passed, and releases them anew when
// all of those are.
func (d *domain) hold(now time.Time) {
	on, at := make([]bool, len(d.groups)), make([]time.Time, len(d.groups))
	for g := range d.groups {
		p := &d.groups[g]
		open, since := true, time.Time{}
		for _, a := range d.spec.groups[g].ahead {
			open, since = open && on[a], later(since, at[a])
		}
		switch {
		case p.releasedAt.IsZero():
		case !open && p.heldSince.IsZero():
			p.heldSince = now
		case open && !p.heldSince.IsZero():
			if p.heldSince.Before(d.rules.windowBefore(now)) {
				p.releasedAt = later(p.releasedAt, since)
			}
			p.heldSince = time.Time{}
		}
		at[g], on[g] = d.letsOn(g, now)
	}
}

// resumeAt counts all time-outs anew after a suspension, where nothing records when groups were released.
func (d *domain) resumeAt(resumed, now time.Time) {
	d.firstReleased = later(d.firstReleased, resumed)
	for g := range d.groups {
		p := &d.groups[g]
		if p.releasedAt.IsZero() {
			continue
		}
		_, was := d.letsOn(g, now)
		p.releasedAt = later(p.releasedAt, resumed)
		if _, is := d.letsOn(g, now); was && !is {
			p.passedUntil = now
		}
	}
}

// nextFullSecond is from when waits are counted, because the API cuts times off to seconds.
func nextFullSecond(t time.Time) time.Time { return t.Truncate(time.Second).Add(time.Second) }

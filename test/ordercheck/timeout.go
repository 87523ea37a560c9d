package ordercheck

import "time"

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

package ordercheck

import "time"

// progress is how a group comes along.
type progress struct {
	satisfied  bool
	skipped    bool
	since      time.Time // when satisfied: since when, at the earliest
	began      time.Time // when satisfied: since when, at the latest
	ripeAt     time.Time // when not satisfied: from when it will be if its pods stay ready; zero if they are not
	releasedAt time.Time // at the earliest; zero when it is not
	heldSince  time.Time // under Continuous, when it was released: since when, at the latest, an earlier group is not passed
	// wasSatisfied says that it was satisfied after its release, and broke: it has no time-out any more. Where a pass may be lost, its
	// time-out counts anew from when it broke: lostAt, at the earliest.
	wasSatisfied bool
	lostAt       time.Time
	passedUntil  time.Time  // up to when it was passed, at the latest, when it no longer is
	best         readyCount // the nearest it has come to being satisfied
	// failuresOver is when the newest Job of the group was created that has completed: Jobs that failed before do not count.
	failuresOver time.Time
	// completed says that it must complete, and had when it was passed.
	completed bool
	// passed reports that it has been passed at some time, and passedAt when, at the earliest; zero if nobody saw it.
	passed   bool
	passedAt time.Time
}

// satisfyWhenSteady marks the group as satisfied once all its pods have been ready for long enough.
func (p *progress) satisfyWhenSteady(now time.Time) {
	if !p.ripeAt.IsZero() && !p.ripeAt.After(now) {
		p.satisfied, p.since, p.began, p.ripeAt = true, p.ripeAt, p.ripeAt, time.Time{}
	}
}

// putOff returns the outcome as it is now: a group whose pods have not been ready for long enough is not satisfied yet.
func (p *progress) putOff(out outcome, now time.Time) outcome {
	p.ripeAt = time.Time{}
	if out.satisfied && out.since.After(now) {
		p.ripeAt, out.satisfied = out.since, false
	}
	return out
}

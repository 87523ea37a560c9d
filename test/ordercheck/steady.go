package ordercheck

import (
	"time"
)

// A pod may have to stay ready for a while before it counts: for as long as its group says, or, if the group does not say and none of the
// pod's containers has a readiness probe, for as long as the operator says. A group of such pods that are ready is not satisfied yet, but
// will be at a known time if none of them breaks.

// must returns how long a pod must stay ready before a group counts it.
func (r *rules) must(p *podFacts, g *groupFacts) time.Duration {
	switch {
	case p.succeeded || g.complete() || isMark(g.reached):
		return 0
	case g.steady != nil:
		return *g.steady
	case !p.probed:
		return r.unprobedReady
	}
	return 0
}

// countsFrom returns from when a group counts a pod that is ready, at the earliest, in whole seconds as the API has them: what counts from
// there begins with the next one.
func (r *rules) countsFrom(p *pod, g *groupFacts) time.Time {
	if must := r.must(p.podFacts, g); must > 0 {
		return p.readySeen.Truncate(time.Second).Add(must)
	}
	return p.reachedSeen(g.reached)
}

// mayWait reports whether a group may have pods that must stay ready.
func (r *rules) mayWait(g *groupFacts) bool {
	return !g.complete() && !isMark(g.reached) && (g.steady == nil && r.unprobedReady > 0 || g.steady != nil && *g.steady > 0)
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

package ordercheck

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// tolerance is how far a scheduler may be behind: how long a pod older than a sequence, or than an edit of it, may still go
// by what was before, and how long a group that was passed counts after it is not.
const tolerance = 2 * time.Second

// rules are what is the same for all versions.
type rules struct {
	schedulers sets.Set[string]
	stops      []Stop
	lags       []Lag
	// unprobedReady is how long pods without a readiness probe must be ready before they count.
	unprobedReady time.Duration
	// excusesUnseen is as of Options.ExcusesUnseen.
	excusesUnseen bool
}

// windowBefore is from when on what was so may have made a scheduler do what happened at a time. One that was stopped does
// then what it had decided before, and one that is shown what had been, what was right then.
func (r *rules) windowBefore(at time.Time) time.Time {
	from := at.Add(-tolerance)
	for _, lag := range r.lags {
		if !lag.From.After(at) && !lag.To.Before(from) {
			from = earlier(from, at.Add(-tolerance-lag.By))
		}
	}
	for _, stop := range slices.Backward(r.stops) {
		if !stop.From.After(at) && !stop.To.Before(from) {
			from = earlier(from, stop.From.Add(-tolerance))
		}
	}
	return from
}

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

package ordercheck

import (
	"slices"
	"time"
)

// news is what an event says of the readiness of what a group counts. A group that an event completes in any other way,
// such as a scale-down, is satisfied since that event, however long its pods have been ready.
type news struct {
	ready bool      // a pod turned ready or a Job complete, and the API says when
	again time.Time // when a pod turned ready that had been ready before; zero if none did
}

// newsFor returns the news for a group.
type newsFor func(group int) news

func noNews(int) news { return news{} }

// podNews returns the news of a pod. was is what the pod was before, nil if it is new. A pod that was ready and is so since
// another time broke in between; so did one that another replaced.
func (v *version) podNews(was *podFacts, w *world, e event) newsFor {
	return func(g int) news {
		p, reached := w.get(e.pod.Namespace, e.pod.Name), v.groups[g].reached
		if p == nil || !p.has(reached) || !v.counts(p.podFacts, g) {
			return news{}
		}
		another := was == nil || was.uid != p.uid
		if !another && was.has(reached) && was.reachedAt(reached).Equal(p.reachedAt(reached)) {
			return news{}
		}
		out := news{ready: true}
		completed := !another && p.succeeded && !was.succeeded
		if was != nil && was.has(reached) && v.counts(was, g) && was.node == p.podFacts.node && !completed {
			out.again = p.reachedSeen(reached)
		}
		return out
	}
}

// counts reports whether a group counts a pod, which an earlier group may have if this one names it.
func (v *version) counts(p *podFacts, g int) bool {
	at, ok := v.groupOf(p)
	return !p.terminating && (ok && at == g || slices.Contains(v.naming[p.NamespacedName], g))
}

// jobNews returns the news of a workload that may be a Job. was is what it was before, nil if it is new.
func jobNews(was *workloadFacts, e event) newsFor {
	completed := !e.deleted && e.workload.complete() && (was == nil || !was.complete())
	return func(int) news { return news{ready: completed} }
}

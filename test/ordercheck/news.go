package ordercheck

import (
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
func podNews(pl *placement, was *podFacts, e event) newsFor {
	return func(g int) news {
		p, reached := pl.world.get(e.pod.Namespace, e.pod.Name), pl.groups[g].reached
		if p == nil || !p.has(reached) || !pl.counts(p.podFacts, g) {
			return news{}
		}
		another := was == nil || was.uid != p.uid
		if !another && was.has(reached) && was.reachedAt(reached).Equal(p.reachedAt(reached)) {
			return news{}
		}
		out := news{ready: true}
		completed := !another && p.succeeded && !was.succeeded
		if was != nil && was.has(reached) && pl.counts(was, g) && was.node == p.podFacts.node && !completed {
			out.again = p.reachedSeen(reached)
		}
		return out
	}
}

// jobNews returns the news of a workload that may be a Job. was is what it was before, nil if it is new.
func jobNews(was *workloadFacts, e event) newsFor {
	completed := !e.deleted && e.workload.complete() && (was == nil || !was.complete())
	return func(int) news { return news{ready: completed} }
}

// conditionNews returns the news of a node.
func conditionNews(groups []groupFacts, said sayings) newsFor {
	return func(g int) news {
		var out news
		for _, r := range groups[g].conditions {
			before, now := said.before[r.Type], said.now[r.Type]
			if !holds(said.now, r) || now.since.IsZero() || holds(said.before, r) && before.turned.Equal(now.turned) {
				continue
			}
			if out.ready = true; holds(said.before, r) {
				out.again = later(out.again, now.since)
			}
		}
		return out
	}
}

// objectNews returns the news of a status. An object that is satisfied since another time than before broke in between.
func objectNews(groups []groupFacts, was, now objectRecords) newsFor {
	return func(g int) news {
		var out news
		for _, of := range groups[g].objects {
			before, now := was[of], now[of]
			if before == now || !now.satisfied() || now.since.IsZero() {
				continue
			}
			out.ready = true
			if before.satisfied() {
				out.again = later(out.again, now.counts)
			}
		}
		return out
	}
}

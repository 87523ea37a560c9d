package ordercheck

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// outcome is how a group stands at one resource version.
type outcome struct {
	satisfied bool
	skipped   bool      // it does not apply to the node
	since     time.Time // when satisfied: the earliest since when it can have been, as far as its pods tell; zero if they do not
	count     readyCount
}

// readyCount is how many pods of a group are ready, of how many.
type readyCount struct {
	ready, of int
}

// demand is what one workload contributes to a group.
type demand struct {
	*workloadFacts
	need    int   // how many pods the group expects of it
	ready   int   // how many of the pods that it wants have reached what the group requires
	times   turns // since when they have
	current func(*podFacts) bool
}

// wants reports whether a pod of the workload is one of those that the group expects of it: of the current revision, and not
// an ordinal that a StatefulSet which is scaled down still has.
func (s *demand) wants(p *podFacts) bool {
	if ordinal, ok := s.ordinalOf(p.Name); ok && !s.ordinals.inRange(ordinal) {
		return false
	}
	return s.current(p)
}

// turns are when pods reached something.
type turns []turn

// turn is when so many pods did. A complete Job has any number of them, which nobody stores.
type turn struct {
	at   time.Time
	pods int
}

func (t *turns) add(at time.Time, pods int) { *t = append(*t, turn{at, pods}) }

func (t turns) sort() { slices.SortFunc(t, func(a, b turn) int { return a.at.Compare(b.at) }) }

// first are those of as many pods as are asked for, the earliest.
func (t turns) first(pods int) turns {
	t.sort()
	var first turns
	for _, turn := range t {
		if pods <= 0 {
			break
		}
		turn.pods = min(turn.pods, pods)
		pods -= turn.pods
		first = append(first, turn)
	}
	return first
}

// needed are since when as many pods are ready as the group expects of the workload: a surplus says nothing of the others. Of a DaemonSet
// the earliest may be the surplus.
func (s *demand) needed(latest bool) turns {
	if !latest {
		return s.times.first(s.need)
	}
	s.times.sort()
	pods := 0
	for _, turn := range s.times {
		pods += turn.pods
	}
	return s.times[max(0, pods-s.need):].first(s.need)
}

// short reports whether the group still waits for the workload, by itself.
func (s *demand) short(group groupFacts) bool {
	if s.job != nil && group.complete() {
		return !s.complete()
	}
	return s.ready < s.need
}

// weigh says how a group stands across the cluster.
func (v *version) weigh(g int, w *world) outcome {
	switch group := v.groups[g]; {
	case group.memberless:
		return v.withObjects(outcome{}, g, w)
	case group.selector == nil:
		return v.withObjects(v.finish(g, w, v.weighNames(g, w)), g, w)
	}
	return v.withObjects(v.finish(g, w, v.weighSelected(g, w)), g, w)
}

// weighSelected says how the members of a group by selector stand.
func (v *version) weighSelected(g int, w *world) outcome {
	group := v.groups[g]
	demands, expected, observed := v.demands(g, w)
	gone, expectedOfGone := v.lostIn(g, w)
	expected += expectedOfGone
	out := outcome{count: readyCount{ready: v.members[g].ready, of: max(len(v.members[g].readiness), expected, group.atLeast)}}
	all := group.enough.text == ""
	var times turns
	if all && len(gone) > 0 {
		return out
	}
	ready, singles := 0, 0
	for name := range v.members[g].readiness {
		ns := w.in(name.Namespace)
		p := ns.pods[name.Name]
		owner := ns.ownerOf(p.podFacts)
		done := p.has(group.reached)
		if owner.workload != nil && v.homeOf(owner.workload) == g {
			// One that is not wanted, or of a Job that a newer one superseded, does not count at all.
			if s := demands[owner.workload.uid]; s != nil && done && s.wants(p.podFacts) {
				s.ready++
				s.times.add(v.rules.countsFrom(p, &v.groups[g]), 1)
			}
			continue
		}
		if owner.controlled && p.failed && !p.static {
			continue // it is replaced
		}
		singles++
		if done {
			ready++
			times.add(v.rules.countsFrom(p, &v.groups[g]), 1)
		} else if all {
			return out
		}
	}
	expected += singles
	short, goes := false, false
	for _, s := range demands {
		goes = goes || s.goes() || v.isCluster() && w.going.Has(s.Namespace)
		whereDue := s.kind == "DaemonSet" && cmp.Or(group.reached, v1alpha1.RequireReady) == v1alpha1.RequireReady
		if whereDue {
			s.ready = min(s.ready, s.readyNodes) // one that it has where it should have none is no substitute
		}
		if s.complete() {
			s.ready = s.expects(group.reached)
			s.times = turns{{s.job.completedAt, s.need}}
		}
		short = short || s.short(group)
		if s.observed {
			ready += min(s.ready, s.need)
			times = append(times, s.needed(whereDue)...)
		}
	}
	enough := group.enough.of(max(expected, group.atLeast))
	something := len(demands)+singles+len(gone) > 0
	switch {
	case goes && !group.enough.none(): // it satisfies nobody
	case all:
		out.satisfied = something && observed && !short && ready >= group.atLeast
		enough = ready
	case group.enough.percent:
		out.satisfied = something && observed && ready >= enough
	default:
		out.satisfied = ready >= enough
	}
	if out.satisfied && (v.timed || v.rules.mayWait(&group)) {
		out.since = kth(times, enough)
	}
	return out
}

// weighNames counts every name, whoever has it.
func (v *version) weighNames(g int, w *world) outcome {
	group := v.groups[g]
	out := outcome{count: readyCount{of: len(group.names)}}
	var times turns
	for _, name := range group.names {
		if p := w.get(group.home.names[0], name); p != nil && !p.terminating && p.has(group.reached) && !isOurs(p.Namespace, p.labels) {
			out.count.ready++
			times.add(v.rules.countsFrom(p, &v.groups[g]), 1)
		}
	}
	enough := group.enough.of(len(group.names))
	out.satisfied = out.count.ready >= enough
	if out.satisfied {
		out.since = kth(times, enough)
	}
	return out
}

// demands are the workloads that the group counts, how many pods it expects of them together, and whether their controllers
// have seen all there is to them.
func (v *version) demands(g int, w *world) (demands map[types.UID]*demand, expected int, observed bool) {
	observed = true
	for uid, home := range v.homes {
		ns := w.in(home.namespace)
		f := ns.workloads[uid]
		if home.group != g || !ns.counts(f) || f.owner.kind != "CronJob" && v.isOver(g, failedAtOf(f)) {
			continue
		}
		if demands == nil {
			demands = map[types.UID]*demand{}
		}
		s := &demand{workloadFacts: f, current: ns.currentOf(f)}
		s.need = max(0, f.expects(v.groups[g].reached)-v.claimed(s, g, ns))
		demands[uid] = s
		expected += s.need
		observed = observed && f.observed && !w.hasNoNodeFor(f)
	}
	return demands, expected, observed
}

// claimed counts the pods of a workload that earlier groups have taken, and the names of a StatefulSet's pods that they ask
// for, whether those exist or not. A failed pod is no claim: the one that replaces it is.
func (v *version) claimed(s *demand, g int, ns *namespace) int {
	if g == 0 {
		return 0
	}
	taken := sets.New[string]()
	ns.podsOf(s.workloadFacts, func(p *pod) {
		if at, placed := v.placed[p.NamespacedName]; placed && at < g && !p.failed && s.wants(p.podFacts) {
			taken.Insert(p.Name)
		}
	})
	for name := range v.naming {
		ordinal, ok := s.ordinalOf(name.Name)
		if ok && name.Namespace == s.Namespace && s.ordinals.inRange(ordinal) && v.naming[name][0] < g {
			taken.Insert(name.Name)
		}
	}
	return taken.Len()
}

// homeOf is the group that expects the pods of a workload, -1 for none.
func (v *version) homeOf(f *workloadFacts) int {
	if home, ok := v.homes[f.uid]; ok {
		return home.group
	}
	return -1
}

// kth is the k-th smallest time: when that many had come to be.
func kth(times turns, k int) time.Time {
	if k <= 0 {
		return time.Time{}
	}
	times.sort()
	for _, t := range times {
		if k -= t.pods; k <= 0 {
			return t.at
		}
	}
	return time.Time{}
}

// lacksOf says in words which workloads a group waits for.
func (v *version) lacksOf(g int, w *world) []string {
	demands, _, _ := v.demands(g, w)
	var lacks []string
	for _, s := range demands {
		for name := range v.members[g].readiness {
			ns := w.in(name.Namespace)
			p := ns.pods[name.Name]
			if ns.ownerOf(p.podFacts).workload == s.workloadFacts && p.has(v.groups[g].reached) && s.wants(p.podFacts) {
				s.ready++
			}
		}
		switch {
		case s.goes(), v.isCluster() && w.going.Has(s.Namespace):
			lacks = append(lacks, fmt.Sprintf("%s was being deleted", v.call(s.workloadFacts)))
		case !s.observed:
			lacks = append(lacks, fmt.Sprintf("the newest spec of %s was not yet observed", v.call(s.workloadFacts)))
		case w.hasNoNodeFor(s.workloadFacts):
			lacks = append(lacks, fmt.Sprintf("no node was ready for %s", v.call(s.workloadFacts)))
		case s.complete():
		case s.job != nil && v.groups[g].complete():
			lacks = append(lacks, fmt.Sprintf("%s was not complete", v.call(s.workloadFacts)))
		case s.ready < s.need:
			lacks = append(lacks, fmt.Sprintf("%s had %d of %d pods ready", v.call(s.workloadFacts), s.ready, s.need))
		}
	}
	gone, _ := v.lostIn(g, w)
	for _, l := range gone {
		lacks = append(lacks, fmt.Sprintf("%s had failed and was deleted", l))
	}
	lacks = append(lacks, v.lacksObjects(g, w)...)
	slices.Sort(lacks)
	return lacks
}

package ordercheck

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// muster is a group of a version, called up to say how it stands as of now.
type muster struct {
	*version
	index   int
	group   *groupFacts
	members *members
}

// weigh says how a group stands across the cluster.
func (m muster) weigh() outcome {
	switch group := m.group; {
	case group.memberless:
		return m.withObjects(outcome{})
	case group.selector == nil:
		return m.withObjects(m.finish(m.weighNames()))
	}
	return m.withObjects(m.finish(m.weighSelected()))
}

// weighSelected says how the members of a group by selector stand.
func (m muster) weighSelected() outcome {
	group := m.group
	demands, expected, observed := m.demands()
	gone, expectedOfGone := m.lost()
	expected += expectedOfGone
	out := outcome{count: readyCount{ready: m.members.ready, of: max(len(m.members.readiness), expected, group.atLeast)}}
	all := group.enough.text == ""
	var times turns
	if all && len(gone) > 0 {
		return out
	}
	ready, singles := 0, 0
	for name := range m.members.readiness {
		ns := m.world.in(name.Namespace)
		p := ns.pods[name.Name]
		owner := ns.ownerOf(p.podFacts)
		done := p.has(group.reached)
		if owner.workload != nil && m.homeOf(owner.workload) == m.index {
			// One that is not wanted, or of a Job that a newer one superseded, does not count at all.
			if s := demands[owner.workload.uid]; s != nil && done && s.wants(p.podFacts) {
				s.ready++
				s.times.add(m.rules.countsFrom(p, group), 1)
			}
			continue
		}
		if owner.controlled && p.failed && !p.static {
			continue // it is replaced
		}
		singles++
		if done {
			ready++
			times.add(m.rules.countsFrom(p, group), 1)
		} else if all {
			return out
		}
	}
	expected += singles
	short, goes := false, false
	for _, s := range demands {
		goes = goes || m.isGoing(s.workloadFacts)
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
	if out.satisfied && (m.timed || m.rules.mayWait(group)) {
		out.since = kth(times, enough)
	}
	return out
}

// weighNames counts every name, whoever has it.
func (m muster) weighNames() outcome {
	group := m.group
	out := outcome{count: readyCount{of: len(group.names)}}
	var times turns
	for _, name := range group.names {
		if p := m.world.get(group.home.names[0], name); p != nil && !p.terminating && p.has(group.reached) && !isOurs(p.Namespace, p.labels) {
			out.count.ready++
			times.add(m.rules.countsFrom(p, group), 1)
		}
	}
	enough := group.enough.of(len(group.names))
	out.satisfied = out.count.ready >= enough
	if out.satisfied {
		out.since = kth(times, enough)
	}
	return out
}

// withObjects adds to how the members of a group stand how its objects do.
func (m muster) withObjects(members outcome) outcome {
	group, out := m.group, members
	if group.memberless {
		out = outcome{satisfied: true}
	}
	for _, of := range group.objects {
		record := m.world.records[m.uid][of]
		out.satisfied = out.satisfied && record.satisfied()
		out.since = later(out.since, record.counts)
	}
	if !out.satisfied {
		out.since = time.Time{}
	}
	return out
}

// finish takes in, of a group that must complete, that it was complete before. Completion is final: when it was passed because it had
// completed, it stays satisfied when what completed is deleted. By Continuous a member that has not completed opens it again.
func (m muster) finish(now outcome) outcome {
	if !m.group.complete() || m.cluster == nil || now.satisfied {
		return now
	}
	p := &m.cluster.groups[m.index]
	if m.hasUnfinished() {
		p.completed = false
	} else if p.completed {
		now.satisfied, now.since = true, p.since
	}
	return now
}

// hasUnfinished reports whether a group has anything that has not completed.
func (m muster) hasUnfinished() bool {
	group := m.group
	for _, name := range group.names {
		if p := m.world.get(group.home.names[0], name); p != nil && !p.terminating && !p.has(group.reached) && !isOurs(p.Namespace, p.labels) {
			return true
		}
	}
	if group.selector == nil {
		return false
	}
	demands, _, observed := m.demands()
	if gone, _ := m.lost(); len(gone) > 0 || !observed {
		return true
	}
	for _, s := range demands {
		if s.short(group) {
			return true
		}
	}
	for name := range m.members.readiness {
		ns := m.world.in(name.Namespace)
		p := ns.pods[name.Name]
		owner := ns.ownerOf(p.podFacts)
		isOwned := owner.workload != nil && m.homeOf(owner.workload) == m.index
		isReplaced := owner.controlled && p.failed && !p.static
		if !isOwned && !isReplaced && !p.has(group.reached) {
			return true
		}
	}
	return false
}

// demands are the workloads that the group counts, how many pods it expects of them together, and whether their controllers
// have seen all there is to them.
func (m muster) demands() (demands map[types.UID]*demand, expected int, observed bool) {
	observed = true
	for uid, home := range m.homes {
		ns := m.world.in(home.namespace)
		f := ns.workloads[uid]
		if home.group != m.index || !ns.counts(f) || f.owner.kind != "CronJob" && m.isOver(failedAtOf(f)) {
			continue
		}
		if demands == nil {
			demands = map[types.UID]*demand{}
		}
		s := &demand{workloadFacts: f, current: ns.currentOf(f)}
		s.need = max(0, f.expects(m.group.reached)-m.claimed(s, ns))
		demands[uid] = s
		expected += s.need
		observed = observed && f.observed && !hasNoNodeFor(f, m.world.nodes)
	}
	return demands, expected, observed
}

// claimed counts the pods of a workload that earlier groups have taken, and the names of a StatefulSet's pods that they ask
// for, whether those exist or not. A failed pod is no claim: the one that replaces it is.
func (m muster) claimed(s *demand, ns *namespace) int {
	if m.index == 0 {
		return 0
	}
	taken := sets.New[string]()
	ns.podsOf(s.workloadFacts, func(p *pod) {
		if at, placed := m.placed[p.NamespacedName]; placed && at < m.index && !p.failed && s.wants(p.podFacts) {
			taken.Insert(p.Name)
		}
	})
	for name := range m.naming {
		ordinal, ok := s.ordinalOf(name.Name)
		if ok && name.Namespace == s.Namespace && s.ordinals.inRange(ordinal) && m.naming[name][0] < m.index {
			taken.Insert(name.Name)
		}
	}
	return taken.Len()
}

// lost are the lost members of a group by label, and how many pods it expects of them.
func (m muster) lost() (members []*lost, pods int) {
	for _, namespace := range m.spans() {
		for _, l := range m.world.in(namespace).lost {
			if at, selected := m.groupOfLost(l); selected && at == m.index && m.minds(l) && !(l.cronJob == (owner{}) && m.isOver(l.failedAt)) {
				members, pods = append(members, l), pods+l.of(m.group)
			}
		}
	}
	return members, pods
}

// minds reports whether the sequence knew the lost member, and nobody has done without it since.
func (m muster) minds(l *lost) bool {
	return m.knew.Has(l.uid) && !m.forgiven.Has(l.uid)
}

// isOver reports whether a Job of a group that failed at a time no longer counts; a zero time is no failure.
func (m muster) isOver(failedAt time.Time) bool {
	return m.cluster != nil && !failedAt.IsZero() && failedAt.Before(m.cluster.groups[m.index].failuresOver)
}

// lacks says why a group is not passed.
func (m muster) lacks() string {
	reasons := m.lacksWorkloads()
	best := m.cluster.groups[m.index].best
	if m.group.memberless {
		return strings.Join(cut(reasons), ", ")
	}
	if best.of == 0 && len(reasons) == 0 {
		return "no pod had matched it"
	}
	var pods []types.NamespacedName
	for _, name := range m.group.names {
		pods = append(pods, types.NamespacedName{Namespace: m.group.home.names[0], Name: name})
	}
	if len(pods) == 0 {
		pods = slices.SortedFunc(maps.Keys(m.members.readiness), func(a, b types.NamespacedName) int {
			return strings.Compare(a.String(), b.String())
		})
	}
	for _, pod := range pods {
		if reason := m.world.whyNot(pod, m.group.reached); reason != "" {
			reasons = append(reasons, m.callPod(pod)+" "+reason)
		}
	}
	if least := m.group.atLeast; best.ready < least {
		reasons = append(reasons, fmt.Sprintf("it expects at least %d", least))
	}
	summary := fmt.Sprintf("%d of %d pods ready at best", best.ready, best.of)
	if len(reasons) == 0 {
		return summary + "; now no pod matches it"
	}
	return summary + "; " + strings.Join(cut(reasons), ", ")
}

// lacksWorkloads says in words which workloads a group waits for.
func (m muster) lacksWorkloads() []string {
	demands, _, _ := m.demands()
	var lacks []string
	for _, s := range demands {
		for name := range m.members.readiness {
			ns := m.world.in(name.Namespace)
			p := ns.pods[name.Name]
			if ns.ownerOf(p.podFacts).workload == s.workloadFacts && p.has(m.group.reached) && s.wants(p.podFacts) {
				s.ready++
			}
		}
		switch {
		case m.isGoing(s.workloadFacts):
			lacks = append(lacks, fmt.Sprintf("%s was being deleted", m.call(s.workloadFacts)))
		case !s.observed:
			lacks = append(lacks, fmt.Sprintf("the newest spec of %s was not yet observed", m.call(s.workloadFacts)))
		case hasNoNodeFor(s.workloadFacts, m.world.nodes):
			lacks = append(lacks, fmt.Sprintf("no node was ready for %s", m.call(s.workloadFacts)))
		case s.complete():
		case s.job != nil && m.group.complete():
			lacks = append(lacks, fmt.Sprintf("%s was not complete", m.call(s.workloadFacts)))
		case s.ready < s.need:
			lacks = append(lacks, fmt.Sprintf("%s had %d of %d pods ready", m.call(s.workloadFacts), s.ready, s.need))
		}
	}
	gone, _ := m.lost()
	for _, l := range gone {
		lacks = append(lacks, fmt.Sprintf("%s had failed and was deleted", l))
	}
	lacks = append(lacks, m.lacksObjects()...)
	slices.Sort(lacks)
	return lacks
}

// lacksObjects says in words which objects a group waits for.
func (m muster) lacksObjects() []string {
	var lacks []string
	for _, of := range m.group.objects {
		record, known := m.world.records[m.uid][of]
		switch name := strings.TrimSpace(fmt.Sprintf("%s %s", of.Kind, of.Name)); {
		case record.satisfied():
		case !known:
			lacks = append(lacks, name+" was on no record")
		default:
			lacks = append(lacks, fmt.Sprintf("%s was recorded as %s", name, record.state))
		}
	}
	return lacks
}

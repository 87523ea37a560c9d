package sequence

import (
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/spec"
)

// join makes the pod a member of its group. before is the same pod as it was, or nil.
func (all *workloads) join(p *pod, m membership, before *pod) {
	d := m.sequence.domainOf(p)
	state := d.groupState(m.group)
	if state.members == nil {
		state.members = map[*pod]struct{}{}
	}
	state.members[p] = struct{}{}
	all.count(p, m, +1, m.beginTrials(p, before))
	m.countPodGroups(p, +1)
}

// leave undoes join.
func (all *workloads) leave(p *pod, m membership) {
	delete(m.sequence.domainOf(p).groupState(m.group).members, p)
	all.count(p, m, -1, 0)
	m.countPodGroups(p, -1)
	m.cancelTrials(p)
}

// count enters the pod into the sums of the groups that expect it, or takes it out. news are the groups to which its readiness is news:
// since when the group is satisfied is then what the pod says, and not the time of the event.
func (all *workloads) count(p *pod, m membership, sign int, news spec.GroupSet) {
	s := m.sequence
	d := s.domainOf(p)
	if s.PerNode {
		d.enter(p, m.group, readiness.OnNode(p.Pod, s.groups[m.group].Required, d.nodeCreatedAt()), sign, news)
		return
	}

	naming := s.Names(p.Namespace)[p.Name]
	for _, i := range naming {
		d.enter(p, i, readiness.Named(p.Pod, s.groups[i].Required), sign, news)
	}
	if p.BeforeBoot {
		d.enter(p, m.group, readiness.Members{BeforeBoot: 1}, sign, 0)
	}
	owner := all.ownerOf(p)
	var part *demand
	if owner.workload != nil {
		part = owner.workload.demands[s]
	}
	if part != nil && part.group > m.group {
		part.countClaimed(p, owner.revision, sign)
	}
	required := s.groups[m.group].Required
	switch readiness.RoleOf(p.Pod, len(naming) > 0 && naming[0] == m.group, part != nil && part.group == m.group, owner.unseen) {
	case readiness.RoleOwned:
		state := d.groupState(m.group)
		if p.Done(required) && !state.onTrial(p) && part.workload.Wants(p.Pod) {
			part.countDone(owner.revision, d.countsAt(p, m.group), sign)
			if news.Has(m.group) && readiness.IsCurrent(&part.workload.Workload, owner.revision) {
				state.turned = latest(state.turned, d.countsSince(p, s.groups[m.group]))
			}
		}
	case readiness.RoleUnseen:
		d.enter(p, m.group, readiness.UnseenOwner(), sign, news)
	case readiness.RoleByItself:
		d.enter(p, m.group, readiness.ByItself(p.Pod, required, d.nodeCreatedAt()), sign, news)
	}
}

// enter adds what a pod gives to the sums of a group, or subtracts it.
func (d *domain) enter(p *pod, group int, given readiness.Members, sign int, news spec.GroupSet) {
	state := d.groupState(group)
	given = state.given(p, given)
	d.add(state, p, given, sign)
	if news.Has(group) && given.Ready > 0 {
		state.turned = latest(state.turned, d.countsSince(p, d.sequence.groups[group]))
	}
}

// add adds what a pod gives to a group state, or subtracts it.
func (d *domain) add(state *groupState, p *pod, given readiness.Members, sign int) {
	state.sums.Add(given, sign)
	if given.Ready > 0 {
		state.readyAt.Add(d.countsAt(p, state.group), sign)
	}
}

// countsAt is countsSince as a Timestamp.
func (d *domain) countsAt(p *pod, group int) inventory.Timestamp {
	return inventory.TimestampOf(d.countsSince(p, d.sequence.groups[group]))
}

// recount takes pods out of the sums, or enters them again.
func (all *workloads) recount(pods []*pod, sign int, tx *transaction) {
	for _, p := range pods {
		for _, m := range p.memberships() {
			all.count(p, m, sign, 0)
			tx.touch(m.sequence.domainOf(p))
		}
	}
}

// countOnNode keeps count of the pods that a DaemonSet has on a node, whatever their labels: while it has one it makes no
// other.
func (all *workloads) countOnNode(p *pod, sign int, tx *transaction) {
	if !p.Bound() || p.Terminating || p.Failed || p.Owner.UID == "" {
		return
	}
	w := all.byUID[p.Owner.UID]
	if w == nil || w.Kind != inventory.KindDaemonSet {
		return
	}
	bump(&w.onNode, p.Node, sign)
	for s, demand := range w.demands {
		if s.PerNode {
			tx.touchGroup(s.domains[p.Node], demand.group)
		}
	}
}

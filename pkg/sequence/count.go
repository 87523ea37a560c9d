package sequence

import (
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
)

// join makes the pod a member of its group. before is the same pod as it was, or nil.
func (all *workloads) join(p *pod, m membership, before *pod) {
	d := m.sequence.domainOf(p)
	state := d.groupState(m.group)
	if state.members == nil {
		state.members = map[*pod]struct{}{}
	}
	state.members[p] = struct{}{}
	required := m.sequence.groups[m.group].Required
	fresh := before == nil || !before.Done(required) || before.ReadySince() != p.ReadySince()
	all.count(p, m, +1, fresh)
	m.countPodGroups(p, +1)
}

// leave undoes join.
func (all *workloads) leave(p *pod, m membership) {
	delete(m.sequence.domainOf(p).groupState(m.group).members, p)
	all.count(p, m, -1, false)
	m.countPodGroups(p, -1)
}

// count enters the pod into the sums of the groups that expect it, or takes it out. fresh reports that its readiness is news:
// since when the group is satisfied is then what the pod says, and not the time of the event.
func (all *workloads) count(p *pod, m membership, sign int, fresh bool) {
	s := m.sequence
	d := s.domainOf(p)
	if s.PerNode {
		d.enter(p, m.group, readiness.OnNode(p.Pod, s.groups[m.group].Required, d.nodeCreatedAt()), sign, fresh)
		return
	}

	naming := s.Names(p.Namespace)[p.Name]
	for _, i := range naming {
		d.enter(p, i, readiness.Named(p.Pod, s.groups[i].Required), sign, fresh)
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
		if p.Done(required) && part.workload.Wants(p.Pod) {
			part.countDone(owner.revision, sign)
			if fresh && readiness.IsCurrent(&part.workload.Workload, owner.revision) {
				state.turned = latest(state.turned, p.ReadySince().Time())
			}
		}
	case readiness.RoleUnseen:
		d.enter(p, m.group, readiness.UnseenOwner(), sign, fresh)
	case readiness.RoleByItself:
		d.enter(p, m.group, readiness.ByItself(p.Pod, required, d.nodeCreatedAt()), sign, fresh)
	}
}

// enter adds what a pod gives to the sums of a group, or subtracts it.
func (d *domain) enter(p *pod, group int, given readiness.Members, sign int, fresh bool) {
	state := d.groupState(group)
	state.sums.Add(given, sign)
	if fresh && given.Ready > 0 {
		state.turned = latest(state.turned, p.ReadySince().Time())
	}
}

// recount takes pods out of the sums, or enters them again.
func (all *workloads) recount(pods []*pod, sign int, tx *transaction) {
	for _, p := range pods {
		for _, m := range p.memberships() {
			all.count(p, m, sign, false)
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

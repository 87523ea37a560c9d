package sequence

import "slices"

// Most edits change when groups are passed and not who belongs to them: a suspension, a wait, a time-out. Then nobody is matched
// or counted anew.

// hasMembersOf reports whether every pod has the same group in both sequences, and counts there in the same way. On nodes the
// equivalence classes of pods are of one sequence, so there it does not help.
func (s *sequence) hasMembersOf(old *sequence) bool {
	return s.SameMembers(old.Sequence) && !s.refused() && !old.refused() && !s.PerNode && !old.PerNode
}

// inheritMembers takes over the members of an earlier spec of the same object, and the sums of them. The workloads are entered
// already.
func (s *sequence) inheritMembers(old *sequence) {
	d, before := s.nodeless, old.nodeless
	for i, g := range old.groups {
		state, was := d.groupState(i), before.peek(i)
		state.members, state.podGroups, state.sums, state.readyAt = was.members, was.podGroups, was.sums, was.readyAt
		state.named = was.named
		state.inheritTrials(d, was)
		for p, c := range state.members {
			if c.demand != nil {
				c.demand = c.demand.workload.demands[s]
				state.members[p] = c
			}
			at := slices.IndexFunc(p.memberships(), func(m membership) bool { return m.sequence == old })
			memberships := slices.Clone(p.memberships()) // others read it
			memberships[at].sequence = s
			p.setMemberships(memberships)
		}
		for counted := range g.demands {
			demand := counted.workload.demands[s]
			demand.done, demand.claimed = counted.done, counted.claimed
		}
	}
	s.podGroups = old.podGroups
}

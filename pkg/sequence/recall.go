package sequence

import (
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// restoreFromStatus takes from status what cannot be seen in the world any more.
func (s *sequence) restoreFromStatus() {
	if s.PerNode {
		if s.record(0).ReleasedAt != nil {
			s.firstReleased.Store(true)
		}
		s.nodeRecords = map[string]*v1alpha1.NodeStatus{}
		for i := range s.object.Status.NodeStatus {
			node := &s.object.Status.NodeStatus[i]
			s.nodeRecords[node.NodeName] = node
			if !s.refused() && s.knowledge.nodes.byName[node.NodeName] != nil {
				s.domainAt(node.NodeName).restoreFromRecord(node)
			}
		}
		return
	}
	d := s.nodeless
	d.Proven |= s.RecordedPasses(&s.object.Status)
	for i := range s.groups {
		record := s.record(i)
		if record.ReleasedAt != nil && s.Suspended {
			d.ReleasedBefore |= s.groups[i].Predecessors
			d.ReleasedBefore.Add(i)
		}
		if record.FirstSatisfiedAt != nil && !s.refused() {
			d.Once.Add(i)
		}
		if record.PassedAt != nil && d.Passed.Has(i) && !s.Continuous {
			d.Pass(i, record.PassedAt.Time)
		}
	}
}

// inheritProgress takes over what an earlier spec of the same object came to.
func (s *sequence) inheritProgress(old *sequence, k *knowledge) {
	if s.UID != old.UID || s.PerNode != old.PerNode {
		return
	}
	if old.firstReleased.Load() || !old.Suspended {
		s.firstReleased.Store(true)
	}
	now, same := k.now.Truncate(time.Second), s.SameGroups(old.Sequence)
	for i, g := range s.groups {
		if same[i] < 0 {
			g.editedAt = now
			continue
		}
		before := old.groups[same[i]]
		g.watchedSince, g.editedAt = before.watchedSince, before.editedAt
		if g.Awaited != same.Set(before.Awaited) {
			g.editedAt = now // what it waits for is skipped, or is not any more
		}
	}
	if s.resumedSeen = old.resumedSeen; old.Suspended && !s.Suspended {
		s.resumedSeen = now
	}
	for name, before := range old.domains {
		if s.domains[name] != nil || (before.node != nil && (before.hasHistory() || s.Suspended)) {
			s.domainAt(name).inheritProgress(before, same)
		}
	}
	for name, d := range s.domains {
		if old.domains[name] != nil || d.node == nil {
			continue
		}
		if s.Suspended {
			d.ReleasedBefore |= same.Set(old.onEmptyNode(d.node).Released)
		}
		for _, state := range d.groupStates {
			if at := same[state.group]; at >= 0 {
				state.unsatisfiedBefore = !old.groups[at].NeedsNoPods
			}
		}
	}
}

// reconfirmPasses asks for another confirmation that groups are satisfied which were passed for as long as they were satisfied,
// and from now on are passed permanently: they must still be satisfied as of the edit. A group that has proof that it was passed
// is passed anyway.
func (s *sequence) reconfirmPasses(old *sequence) {
	if s.Continuous || !old.Continuous {
		return
	}
	for _, d := range s.domains {
		for _, state := range d.groupStates {
			if state.satisfied && !d.Proven.Has(state.group) {
				state.confirmed, state.question = false, s.knowledge.questions.nowMoment()
			}
		}
	}
}

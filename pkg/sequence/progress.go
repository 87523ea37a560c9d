package sequence

import (
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/readiness"
)

// join makes the pod a member of its group. before is the same pod as it was, or nil.
func (e *Engine) join(p *pod, m membership, before *pod) {
	l := m.sequence.laneOf(p)
	t := l.tally(m.group)
	if t.members == nil {
		t.members = map[*pod]struct{}{}
	}
	t.members[p] = struct{}{}
	required := m.sequence.groups[m.group].Required
	fresh := before == nil || !before.Done(required) || !before.ReadyAt.Equal(p.ReadyAt)
	e.count(p, m, +1, fresh)
	e.countGangs(p, m, +1)
}

// leave undoes join.
func (e *Engine) leave(p *pod, m membership) {
	delete(m.sequence.laneOf(p).tally(m.group).members, p)
	e.count(p, m, -1, false)
	e.countGangs(p, m, -1)
}

// count enters the pod into the sums of the groups that expect it, or takes it out. fresh tells that its readiness is news:
// since when the group is satisfied is then what the pod says, and not the time of the event.
func (e *Engine) count(p *pod, m membership, sign int, fresh bool) {
	s := m.sequence
	l := s.laneOf(p)
	if s.PerNode {
		l.enter(p, m.group, readiness.OnNode(&p.Pod, s.groups[m.group].Required, l.nodeCreatedAt()), sign, fresh)
		return
	}

	naming := s.ByName[p.Name]
	for _, i := range naming {
		l.enter(p, i, readiness.Named(&p.Pod, s.groups[i].Required), sign, fresh)
	}
	made := e.workloads.makerOf(p)
	var part *share
	if made.workload != nil {
		part = made.workload.shares[s]
	}
	if part != nil && part.group > m.group {
		part.countClaimed(p, made.revision, sign)
	}
	required := s.groups[m.group].Required
	switch readiness.RoleOf(&p.Pod, len(naming) > 0 && naming[0] == m.group, part != nil && part.group == m.group, made.unseen) {
	case readiness.RoleOwned:
		t := l.tally(m.group)
		if p.Done(required) && part.workload.Wants(&p.Pod) {
			part.countDone(made.revision, sign)
			if fresh && readiness.IsCurrent(&part.workload.Workload, made.revision) {
				t.turned = latest(t.turned, p.ReadyAt)
			}
		}
	case readiness.RoleUnseen:
		l.enter(p, m.group, readiness.UnseenOwner(), sign, fresh)
	case readiness.RoleByItself:
		l.enter(p, m.group, readiness.ByItself(&p.Pod, required, l.nodeCreatedAt()), sign, fresh)
	}
}

// enter adds what a pod gives to the sums of a group, or subtracts it.
func (l *lane) enter(p *pod, group int, given readiness.Members, sign int, fresh bool) {
	t := l.tally(group)
	t.sums.Add(given, sign)
	if fresh && given.Ready > 0 {
		t.turned = latest(t.turned, p.ReadyAt)
	}
}

// nodeCreatedAt is when the lane's node was created; zero in the cluster, and while the node is not known.
func (l *lane) nodeCreatedAt() time.Time {
	if l.node == nil {
		return time.Time{}
	}
	return l.node.Object.CreationTimestamp.Time
}

// isDone reports whether a member has reached what its group requires.
func (l *lane) isDone(p *pod, g *group) bool {
	return readiness.IsDone(&p.Pod, g.Required, l.nodeCreatedAt())
}

// recall takes from status what cannot be seen in the world any more.
func (s *sequence) recall() {
	if s.PerNode {
		if s.record(0).ReleasedAt != nil {
			s.begun.Store(true)
		}
		s.nodeRecords = map[string]*v1alpha1.NodeStatus{}
		for i := range s.object.Status.NodeStatus {
			node := &s.object.Status.NodeStatus[i]
			s.nodeRecords[node.NodeName] = node
			if !s.refused() && s.engine.nodes[node.NodeName] != nil {
				s.laneAt(node.NodeName).recall(node)
			}
		}
		return
	}
	l := s.lanes[""]
	l.evidence = max(l.evidence, s.RecordedPasses(&s.object.Status))
	for i := range s.groups {
		record := s.record(i)
		if record.ReleasedAt != nil && s.Suspended {
			l.freed = max(l.freed, i+1)
		}
		if record.FirstSatisfiedAt != nil {
			l.once.add(i)
		}
		if record.PassedAt != nil && i < len(l.passes) && !s.Continuous {
			l.passes[i] = record.PassedAt.Time
		}
	}
}

// carry takes over what an earlier spec of the same object came to.
func (s *sequence) carry(old *sequence, e *Engine) {
	if s.UID != old.UID || s.PerNode != old.PerNode {
		return
	}
	if old.begun.Load() || !old.Suspended {
		s.begun.Store(true)
	}
	now, same := e.now.Truncate(time.Second), s.SameGroups(old.Sequence)
	for i, g := range s.groups[:same] {
		g.watchedSince, g.editedAt = old.groups[i].watchedSince, old.groups[i].editedAt
	}
	for _, g := range s.groups[same:] {
		g.editedAt = now
	}
	if s.resumed = old.resumed; old.Suspended && !s.Suspended {
		s.resumed = now
	}
	for name, before := range old.lanes {
		if s.lanes[name] != nil || (before.node != nil && (before.hasHistory() || s.Suspended)) {
			s.laneAt(name).carry(before, same)
		}
	}
	for name, l := range s.lanes {
		if old.lanes[name] == nil && l.node != nil && s.Suspended {
			l.freed = max(l.freed, min(old.blank(l.node).released, same))
		}
	}
}

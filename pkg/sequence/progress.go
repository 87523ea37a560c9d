package sequence

import "example.com/podsequence/apis/scheduling/v1alpha1"

// expected is the number of members the group waits for.
func (g *group) expected() int {
	if g.selector != nil {
		return len(g.members)
	}
	return len(g.names)
}

// satisfied tells whether all expected members are ready now. A group that has nothing to expect is not: its pods may
// yet come.
func (g *group) satisfied() bool {
	expected := g.expected()
	return !g.unreadable && expected > 0 && g.ready == expected
}

// join makes the pod a member of its group.
func (m membership) join(p *pod) {
	m.sequence.groups[m.group].members[p] = struct{}{}
	m.count(p, +1)
}

// leave undoes join.
func (m membership) leave(p *pod) {
	delete(m.sequence.groups[m.group].members, p)
	m.count(p, -1)
}

// count enters the pod's readiness into the sums of the groups that expect it, or takes it out.
func (m membership) count(p *pod, sign int) {
	if !p.ready {
		return
	}
	naming := m.sequence.byName[p.name]
	for _, i := range naming {
		m.sequence.groups[i].countReady(p, sign)
	}
	if len(naming) == 0 || naming[0] != m.group {
		m.sequence.groups[m.group].countReady(p, sign)
	}
}

func (g *group) countReady(p *pod, sign int) {
	g.ready += sign
	if p.readyAt.After(g.lastReady) {
		g.lastReady = p.readyAt
	}
}

// raise moves the sequence forward to group i, on evidence that the groups before it were passed. It never moves back.
func (s *sequence) raise(i int) {
	s.current = max(s.current, i)
}

// advance passes every group that is satisfied, in order.
func (s *sequence) advance() {
	for s.current < len(s.groups) && s.groups[s.current].satisfied() {
		s.current++
	}
}

// recordedPasses is the number of groups that the object's status says were passed, as far as the definitions are still
// those of the record.
func (s *sequence) recordedPasses(ps *v1alpha1.PodSequence) int {
	for i := min(len(ps.Status.Groups), len(s.groups)); i > 0; i-- {
		if record := ps.Status.Groups[i-1]; record.PassedAt != nil && record.Hash == s.groups[i-1].hash {
			return i
		}
	}
	return 0
}

// carry takes over the passes of an earlier spec of the same object, as far as the definitions are the same.
func (s *sequence) carry(old *sequence) {
	if s.uid != old.uid {
		return
	}
	for i := min(old.current, len(s.groups)); i > 0; i-- {
		if s.groups[i-1].hash == old.groups[i-1].hash {
			s.raise(i)
			return
		}
	}
}

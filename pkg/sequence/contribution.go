package sequence

import (
	"slices"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/spec"
)

// An event changes facts only, and marks the pods and the demands that count by them. What each of these adds to the sums of groups is
// worked out from the facts when the transaction is settled, and then takes the place of what it added before: nobody has to know what
// changed, nor what the facts were. Only a pod that leaves a group is subtracted at once, because nothing may be left of it later.
//
// What was there for a moment only must count, too: a Job that is deleted as soon as it is complete, a pod that turns ready and goes. It
// does, because every event is settled before the next one is entered. In a list such a moment is not there to be seen.

// contribution is what a pod adds to the sums of a group that counts it.
type contribution struct {
	// since is since when the pod counts as ready in the group, or from when it will; zero if it is not Ready, and if nobody says.
	since inventory.Timestamp
	// demand is that of the pod's owner; nil if the pod does not count for it, as one of an older revision. If it is that of a later group,
	// the pod is one that this group need not expect.
	demand *demand
	readiness.Member
	// ready reports that the pod counts as ready in the group. timed reports that it does, or will, only because it stays Ready for a
	// while, see readiness.MinReady.
	ready, timed bool
}

// member is a pod in its group in a domain.
type member struct {
	pod    *pod
	domain *domain
	group  int
}

// groups returns the groups in which a member counts: its own, and in the cluster all that name it.
func (at member) groups() spec.GroupSet {
	set := spec.GroupSet(1) << at.group
	if s := at.domain.sequence; !s.PerNode {
		for _, i := range s.Names(at.pod.Namespace)[at.pod.Name] {
			set.Add(i)
		}
	}
	return set
}

// contribution works out what the member adds to a group, which is its own or one that names it.
func (all *workloads) contribution(at member, group int) contribution {
	p, d, s := at.pod, at.domain, at.domain.sequence
	c := d.countsIn(p, group)
	if required := s.groups[group].Required; s.PerNode {
		c.Member = readiness.OnNode(p.Pod, required, d.nodeCreatedAt())
	} else {
		naming := s.Names(p.Namespace)[p.Name]
		if slices.Contains(naming, group) {
			c.Member = readiness.Named(p.Pod, required)
		}
		if group == at.group {
			all.contributeToOwn(&c, p, membership{s, group}, len(naming) > 0 && naming[0] == group)
		}
	}
	c.Ready = c.Ready && c.ready
	return c
}

// contributeToOwn adds what the member adds to no other group than its own.
func (all *workloads) contributeToOwn(c *contribution, p *pod, m membership, named bool) {
	var part *demand
	owner := all.ownerOf(p)
	if owner.workload != nil {
		part = owner.workload.demands[m.sequence]
	}
	counts := part != nil && part.workload.IsUpToDate(owner.revision)
	if counts && part.group > m.group && readiness.IsClaimed(&part.workload.Workload, p.Pod, part.names(), part.group) {
		c.demand = part
	}
	switch readiness.RoleOf(p.Pod, named, part != nil && part.group == m.group, owner.unseen) {
	case readiness.RoleOwned:
		if counts && part.workload.Wants(p.Pod) {
			c.demand = part
		}
	case readiness.RoleUnseen:
		c.Member = readiness.UnseenOwner()
	case readiness.RoleByItself:
		c.Member = readiness.ByItself(p.Pod, m.sequence.groups[m.group].Required, m.sequence.nodeless.nodeCreatedAt())
	}
	c.BeforeBoot = p.BeforeBoot
}

// join makes the pod a member of its group. before is the same pod as it was, or nil: that it is ready is news only if it was not then.
func (all *workloads) join(p *pod, m membership, before *pod, tx *transaction) {
	d := m.sequence.domainOf(p)
	at := member{p, d, m.group}
	for i := range at.groups().All() {
		state, was := d.groupState(i), contribution{}
		if before != nil {
			was = d.countsIn(before, i)
			was.timed = false // it has added nothing yet
		}
		if i == m.group {
			state.members = entered(state.members, p, was)
			m.countPodGroups(p, was.ready, +1)
		} else {
			state.named = entered(state.named, p, was)
		}
	}
	tx.mark(at)
}

func entered(contributions map[*pod]contribution, p *pod, c contribution) map[*pod]contribution {
	if contributions == nil {
		contributions = map[*pod]contribution{}
	}
	contributions[p] = c
	return contributions
}

// leave undoes join. The pod is still as it was when it was last counted.
func (all *workloads) leave(p *pod, m membership, tx *transaction) {
	at := member{p, m.sequence.domainOf(p), m.group}
	for i := range at.groups().All() {
		state := at.domain.groupState(i)
		state.put(at, contribution{}, tx)
		delete(state.members, p)
		delete(state.named, p)
	}
	m.countPodGroups(p, false, -1)
}

// mark marks a member: what it adds to the sums is worked out anew.
func (tx *transaction) mark(at member) {
	for i := range at.groups().All() {
		at.domain.groupState(i)
	}
	tx.markDirty(at.domain)
	tx.counted = append(tx.counted, at)
}

// mark marks the pod wherever it is a member.
func (p *pod) mark(tx *transaction) {
	for _, m := range p.memberships() {
		tx.mark(member{p, m.sequence.domainOf(p), m.group})
	}
}

// settleSums brings the sums of all groups up to the facts.
func (k *knowledge) settleSums(tx *transaction) {
	for _, at := range tx.counted {
		if _, isMember := at.domain.peek(at.group).members[at.pod]; !isMember {
			continue // it has left since
		}
		for i := range at.groups().All() {
			at.domain.find(i).put(at, k.workloads.contribution(at, i), tx)
		}
	}
	for _, demand := range tx.demands {
		demand.settle()
	}
	tx.counted, tx.demands = nil, nil
}

// put makes what a pod adds take the place of what it added before.
func (s *groupState) put(at member, next contribution, tx *transaction) {
	p := at.pod
	before, isMember := s.of(p)
	if next.demand != nil {
		at.domain.groupState(next.demand.group) // is looked at anew, whether that changes or not
	}
	if before == next {
		return
	}
	if isMember {
		s.members[p] = next
	} else {
		s.named[p] = next
	}
	s.add(before, -1, tx)
	s.add(next, +1, tx)
	if isMember && before.ready != next.ready {
		s.notePodGroups(p, next.ready)
	}
	if isNews := next.ready && !(before.ready && before.since == next.since); isNews && s.countsAsReady(next) {
		s.turned = latest(s.turned, next.since.Time())
	}
	if before.since != next.since || before.onTrial() != next.onTrial() {
		s.setTrial(at, next)
	}
}

// of returns what a pod adds to the sums, and whether it is a member.
func (s *groupState) of(p *pod) (c contribution, isMember bool) {
	if c, isMember = s.members[p]; !isMember {
		c = s.named[p]
	}
	return c, isMember
}

// add adds a contribution to the sums, or subtracts it. Nothing else does.
func (s *groupState) add(c contribution, sign int, tx *transaction) {
	s.sums.Add(c.Member, sign)
	if c.Ready {
		s.readyAt.Add(c.since, sign)
	}
	if c.timed {
		s.timed += sign
	}
	switch part := c.demand; {
	case part == nil:
	case part.group != s.group:
		part.claimed += sign
		part.mark(tx)
	case c.ready:
		part.done.Add(c.since, sign)
		part.mark(tx)
	}
}

// countsAsReady reports whether the sums count the pod as ready.
func (s *groupState) countsAsReady(c contribution) bool {
	return c.Ready || (c.demand != nil && c.demand.group == s.group && readiness.CountsPods(&c.demand.workload.Workload))
}

// markPods marks pods wherever they are members.
func markPods(pods []*pod, tx *transaction) {
	for _, p := range pods {
		p.mark(tx)
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
			tx.markGroupDirty(s.domains[p.Node], demand.group)
		}
	}
}

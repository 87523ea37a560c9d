package sequence

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/progress"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/spec"
)

// An event changes facts only, and marks the pods and the demands that count by them. What each of these adds to the sums of groups is
// worked out from the facts when the transaction is settled, and then takes the place of what it added before: nobody has to know what
// changed, nor what the facts were. Only a pod that leaves a group is subtracted at once, because nothing may be left of it later.
//
// What was there for a moment only must count, too: a Job that is deleted as soon as it is complete, a pod that turns ready and goes. It
// does, because every event is settled before the next one is entered. In a list such a moment is not there to be seen.

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
	if required := s.groups[group].requirement(); s.PerNode {
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
		c.Member = readiness.ByItself(p.Pod, m.sequence.groups[m.group].requirement(), m.sequence.nodeless.nodeCreatedAt())
	}
	c.NodeGone = p.Reached(m.sequence.groups[m.group].requirement()).NodeGone
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

// put makes what a pod adds take the place of what it added before.
func (s *groupState) put(at member, next contribution, tx *transaction) {
	p := at.pod
	before, isMember := s.members[p]
	if !isMember {
		before = s.named[p]
	}
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
	s.enough = s.enough && !before.ready
	if isNews := next.ready && !(before.ready && before.since == next.since); isNews && s.countsAsReady(next) {
		s.turned = latest(s.turned, next.since.Time())
	}
	if before.since != next.since || before.onTrial() != next.onTrial() {
		s.setTrial(at, next)
	}
}

// add adds a contribution to the sums, or subtracts it. Nothing else does.
func (s *groupState) add(c contribution, sign int, tx *transaction) {
	s.sums.Add(c.Member, sign)
	switch part := c.demand; {
	case part == nil:
	case part.group != s.group:
		part.claimed += sign
		part.mark(tx)
	case c.ready:
		part.done += sign
		part.mark(tx)
	}
}

// countsAsReady reports whether the sums count the pod as ready.
func (s *groupState) countsAsReady(c contribution) bool {
	return c.Ready || (c.demand != nil && c.demand.group == s.group && readiness.CountsPods(&c.demand.workload.Workload) && !c.demand.facts().IsOver())
}

// markPods marks pods wherever they are members.
func markPods(pods []*pod, tx *transaction) {
	for _, p := range pods {
		p.mark(tx)
	}
}

// countsIn returns what of its contribution says whether, and since when, a version of a member counts as ready in a group.
func (d *domain) countsIn(p *pod, group int) (c contribution) {
	k, g := d.sequence.knowledge, d.sequence.groups[group]
	reached := p.Reached(g.requirement())
	if !reached.Done {
		return c
	}
	minReady := readiness.MinReady(p.Pod, g.Group, k.settings.UnprobedReady)
	if minReady == 0 {
		c.since, c.ready = reached.Since, true
		return c
	}
	// A time of the API, cut to whole seconds, and so is the sum. Whoever counts from it begins with the next full second, once.
	c.since, c.timed = inventory.TimestampOf(p.SteadySince().Time().Add(minReady)), true
	c.ready = !k.now.Before(c.trialEnds())
	return c
}

// trialEnds is when a pod counts as ready that must stay Ready for a while.
func (c contribution) trialEnds() time.Time { return progress.FullSecondAfter(c.since.Time()) }

// setTrial puts a member on trial, or takes it off.
func (s *groupState) setTrial(at member, c contribution) {
	trials := &at.domain.sequence.knowledge.trials
	if alarm := s.trials[at.pod]; alarm != nil {
		trials.Set(alarm, time.Time{})
		delete(s.trials, at.pod)
	}
	if !c.onTrial() {
		return
	}
	if s.trials == nil {
		s.trials = map[*pod]*progress.Alarm[member]{}
	}
	alarm := &progress.Alarm[member]{Owner: at}
	s.trials[at.pod] = alarm
	trials.Set(alarm, c.trialEnds())
}

// endTrials counts the members as ready whose time has come.
func (k *knowledge) endTrials(tx *transaction) {
	for at := range k.trials.Due(k.now) {
		tx.mark(at)
	}
}

// trialsOf sums up who is on trial in a group.
func (d *domain) trialsOf(group int) readiness.Trials {
	sum := readiness.Trials{Pods: len(d.peek(group).trials)}
	for p := range d.peek(group).trials {
		g := d.sequence.groups[group].Group
		sum.For, sum.Unprobed = readiness.MinReady(p.Pod, g, d.sequence.knowledge.settings.UnprobedReady), g.MinReady == nil
		break // it is the same for all of them, and there may be many
	}
	return sum
}

// MinReady returns how long a pod must have been Ready without a break before it counts as ready in a group; 0 if it counts at once.
func (c *Config) MinReady(pod *corev1.Pod, group *v1alpha1.PodGroup) time.Duration {
	facts, g := inventory.ViewPod(pod), spec.Group{Required: group.RequiredStatus, Condition: group.RequiredCondition}
	if group.MinReadySeconds != nil {
		minReady := time.Duration(*group.MinReadySeconds) * time.Second
		g.MinReady = &minReady
	}
	return readiness.MinReady(&facts, &g, c.UnprobedReady)
}

// crashLooping names the members of a passed group that is not ready any more, and whose containers are restarted again and again.
func (d *domain) crashLooping(group int) (names []string, unprobed bool) {
	if d.looksSatisfied(group) {
		return nil, false
	}
	for p := range d.peek(group).members {
		if p.Crashing && !d.isDone(p, group) {
			names, unprobed = append(names, d.sequence.nameOf(p)), unprobed || p.Unprobed
		}
	}
	return names, unprobed
}

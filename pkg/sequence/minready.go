package sequence

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/progress"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/spec"
)

// Some members count as ready only when they have been Ready for a while without a break, see readiness.MinReady. Until then such a
// member is on trial in its group, and the sums do not count it as ready. An alarm ends the trial: nothing else happens then.

// trial is that of one member in one group.
type trial struct {
	pod    *pod
	domain *domain
	group  int
}

// onTrial reports whether a member is Ready and does not count as ready yet.
func (s *groupState) onTrial(p *pod) bool { return s.trials[p] != nil }

// given returns what a member gives to the sums, which is less while it is on trial.
func (s *groupState) given(p *pod, members readiness.Members) readiness.Members {
	if s.onTrial(p) {
		members.Ready = 0
	}
	return members
}

// countsSince returns since when a member that is ready counts as ready in a group, or from when it will.
func (d *domain) countsSince(p *pod, g *group) time.Time {
	minReady := readiness.MinReady(p.Pod, g.Group, d.sequence.knowledge.settings.UnprobedReady)
	if minReady == 0 {
		return p.ReadySince().Time()
	}
	return progress.FullSecondAfter(p.SteadySince().Time()).Add(minReady)
}

// counts reports whether a version of a member counts as ready in a group now, as far as time is concerned.
func (d *domain) counts(p *pod, g *group) bool {
	return p.Done(g.Required) && (readiness.MinReady(p.Pod, g.Group, d.sequence.knowledge.settings.UnprobedReady) == 0 ||
		!d.sequence.knowledge.now.Before(d.countsSince(p, g)))
}

// countsIn returns the groups in which a member counts: its own, and in the cluster all that name it.
func (m membership) countsIn(p *pod) spec.GroupSet {
	set := spec.GroupSet(1) << m.group
	if !m.sequence.PerNode {
		for _, i := range m.sequence.Names(p.Namespace)[p.Name] {
			set.Add(i)
		}
	}
	return set
}

// beginTrials puts a new version of a member on trial in the groups in which it does not count as ready yet. It returns the groups to
// which it is news since when the member counts as ready. before is the same pod as it was, or nil.
func (m membership) beginTrials(p, before *pod) (news spec.GroupSet) {
	d := m.sequence.domainOf(p)
	for i := range m.countsIn(p).All() {
		g := m.sequence.groups[i]
		if before == nil || !d.counts(before, g) || !d.countsSince(before, g).Equal(d.countsSince(p, g)) {
			news.Add(i)
		}
		if !d.isTimed(p, g) {
			continue
		}
		if d.groupState(i).timed++; !d.counts(p, g) {
			d.beginTrial(p, i)
		}
	}
	return news
}

// isTimed reports whether a member is Ready and has to stay so for a while before it counts, whether that is over or not.
func (d *domain) isTimed(p *pod, g *group) bool {
	return p.Done(g.Required) && readiness.MinReady(p.Pod, g.Group, d.sequence.knowledge.settings.UnprobedReady) > 0
}

func (d *domain) beginTrial(p *pod, group int) {
	state := d.groupState(group)
	if state.trials == nil {
		state.trials = map[*pod]*progress.Alarm[trial]{}
	}
	alarm := &progress.Alarm[trial]{Owner: trial{p, d, group}}
	state.trials[p] = alarm
	d.sequence.knowledge.trials.Set(alarm, d.countsSince(p, d.sequence.groups[group]))
}

// cancelTrials takes a member off trial that is taken out of its group.
func (m membership) cancelTrials(p *pod) {
	d := m.sequence.domainOf(p)
	for i := range m.countsIn(p).All() {
		if d.isTimed(p, m.sequence.groups[i]) {
			d.groupState(i).timed--
		}
		if alarm := d.peek(i).trials[p]; alarm != nil {
			d.sequence.knowledge.trials.Set(alarm, time.Time{})
			delete(d.peek(i).trials, p)
		}
	}
}

// endTrials counts the members as ready whose time has come. The picture in which they do is that of now, and not that of the event that
// said that they are Ready: so it is confirmed as of now.
func (k *knowledge) endTrials(tx *transaction) {
	for t := range k.trials.Due(k.now) {
		if tx.Moment == 0 {
			tx.Question, tx.version = k.questions.nextMoment(k.questions.newest), k.questions.newest
		}
		m := membership{t.domain.sequence, t.pod.groupIn(t.domain.sequence)}
		k.workloads.count(t.pod, m, -1, 0)
		m.countPodGroups(t.pod, -1)
		delete(t.domain.peek(t.group).trials, t.pod)
		k.workloads.count(t.pod, m, +1, 1<<t.group)
		m.countPodGroups(t.pod, +1)
		tx.touch(t.domain)
	}
}

// groupIn returns the group of a member of a sequence.
func (p *pod) groupIn(s *sequence) int {
	for _, m := range p.memberships() {
		if m.sequence == s {
			return m.group
		}
	}
	return -1
}

// inheritTrials takes over the trials of the same group of an earlier spec.
func (d *domain) inheritTrials(group int, before *groupState) {
	d.groupState(group).timed = before.timed
	for p, alarm := range before.trials {
		d.sequence.knowledge.trials.Set(alarm, time.Time{})
		d.beginTrial(p, group)
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
	facts, g := inventory.ViewPod(pod), spec.Group{Required: group.RequiredStatus}
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

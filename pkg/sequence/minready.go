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

// onTrial reports whether a member is Ready and does not count as ready yet.
func (s *groupState) onTrial(p *pod) bool { return s.trials[p] != nil }

func (c *contribution) onTrial() bool { return c.timed && !c.ready }

// countsIn returns what of its contribution says whether, and since when, a version of a member counts as ready in a group.
func (d *domain) countsIn(p *pod, group int) (c contribution) {
	k, g := d.sequence.knowledge, d.sequence.groups[group]
	if !p.Done(g.Required) {
		return c
	}
	minReady := readiness.MinReady(p.Pod, g.Group, k.settings.UnprobedReady)
	if minReady == 0 {
		c.since, c.ready = p.ReadySince(), true
		return c
	}
	since := progress.FullSecondAfter(p.SteadySince().Time()).Add(minReady)
	c.since, c.ready, c.timed = inventory.TimestampOf(since), !k.now.Before(since), true
	return c
}

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
	trials.Set(alarm, c.since.Time())
}

// endTrials counts the members as ready whose time has come. The picture in which they do is that of now, and not that of the event that
// said that they are Ready: so it is confirmed as of now.
func (k *knowledge) endTrials(tx *transaction) {
	for at := range k.trials.Due(k.now) {
		if tx.Moment == 0 {
			tx.Question, tx.version = k.questions.nextMoment(k.questions.newest), k.questions.newest
		}
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

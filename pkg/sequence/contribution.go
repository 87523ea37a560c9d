package sequence

import (
	"time"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/progress"
	"example.com/podsequence/pkg/sequence/readiness"
)

// groupState counts one group in one domain.
type groupState struct {
	group   int
	members map[*pod]contribution            // its members, with what each adds to the sums
	named   map[*pod]contribution            // the same of pods that it names and that belong to an earlier group
	trials  map[*pod]*progress.Alarm[member] // of pods that are Ready and do not count as ready yet

	// sums and demands are what the rules of readiness look at.
	sums    readiness.Members
	demands readiness.Demands

	othersSatisfied   bool // of the group that has the rest: those before it are satisfied or skipped
	satisfied         bool
	unsatisfiedBefore bool      // it was not satisfied under the spec before, and has not been looked at since
	since             time.Time // when it became satisfied; zero while it is not
	dirty             bool      // its sums changed in this transaction
	turned            time.Time // the latest ready time of pods that turned ready in this transaction

	// enough reports that by since as many pods were ready as are required. That more turn ready does not change this. Else all members must
	// be looked at to find out.
	enough   bool
	required int
}

// emptyGroupState is what peek returns for a group without state. It is never written to.
var emptyGroupState = &groupState{}

// contribution is what a pod adds to the sums of a group that counts it.
type contribution struct {
	// since is since when the pod counts as ready in the group, or from when it will; zero if it is not Ready, or if unknown.
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

// An event changes facts only, and marks the pods and the demands that count by them. What each of these adds to the sums of groups is
// worked out from the facts when the transaction is settled, and then takes the place of what it added before: nobody has to know what
// changed, nor what the facts were. Only a pod that leaves a group is subtracted at once, because nothing may be left of it later.
//
// What was there for a moment only must count, too: a Job that is deleted as soon as it is complete, a pod that turns ready and goes. It
// does, because every event is settled before the next one is entered. In a list such a moment is not there to be seen.

// groups returns the groups in which a member counts: its own, and in the cluster all that name it.
func (at member) groups() order.GroupSet {
	set := order.GroupSet(1) << at.group
	if s := at.domain.sequence; !s.PerNode {
		for _, i := range s.Names(at.pod.Namespace)[at.pod.Name] {
			set.Add(i)
		}
	}
	return set
}

func entered(contributions map[*pod]contribution, p *pod, c contribution) map[*pod]contribution {
	if contributions == nil {
		contributions = map[*pod]contribution{}
	}
	contributions[p] = c
	return contributions
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

// Some members count as ready only when they have been Ready for a while without a break, see readiness.MinReady. Until then such a
// member is on trial in its group, and the sums do not count it as ready. An alarm ends the trial: nothing else happens then.

// onTrial reports whether a member is Ready and does not count as ready yet.
func (s *groupState) onTrial(p *pod) bool { return s.trials[p] != nil }

func (c *contribution) onTrial() bool { return c.timed && !c.ready }

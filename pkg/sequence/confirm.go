package sequence

import (
	"example.com/podsequence/pkg/sequence/confirmation"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/spec"
)

// askForPod asks what is missing for a pod that would be released otherwise, and notes that the pod waits for the answers.
func (q *questions) askForPod(p *pod, m *membership, changes *Changes) {
	q.forgetPod(p)
	question := p.placed.And(q.relisted.Of(m.sequence.groups[m.group].subjectsBefore))
	for _, subject := range m.sequence.groups[m.group].subjectsBefore {
		if q.known(subject) < question.Moment {
			q.unconfirmedIn(subject.Namespace).pods[p] = struct{}{}
			q.askedForPod[p] = append(q.askedForPod[p], subject)
			changes.ask(subject, question)
		}
	}
}

// askForDomain asks what is missing for the groups of a domain that it matters for. The domain is re-evaluated when nothing is
// missing any more.
func (q *questions) askForDomain(d *domain, changes *Changes) {
	s := d.sequence
	d.unconfirmed = false
	q.forgetDomain(d)
	ask := func(i int, question Question) {
		d.unconfirmed = true
		for _, subject := range s.groups[i].subjects {
			if q.known(subject) < question.Moment {
				q.unconfirmedIn(subject.Namespace).domains[d] = struct{}{}
				d.asks = append(d.asks, subject)
				changes.ask(subject, question)
			}
		}
	}
	for i := range d.Undecided(d.progressFacts()).All() {
		state := d.find(i)
		if state == nil {
			continue
		}
		if state.satisfied && !state.confirmed && d.applies(s.groups[i]) {
			ask(i, state.question)
			// Versions do not say whether a pod broke before it had been ready for long enough: then only what holds now counts.
			if s.groups[i].Wait == 0 && !s.Continuous && state.timed == 0 {
				state.witness.Call(state.question, state.pictureAsOf(q.relisted.Of(s.groups[i].subjects)), state.since)
			}
		}
		if state.witness.Waits() {
			ask(i, state.witness.Question)
		}
	}
}

// settleConfirmation works out whether it is confirmed that the group is satisfied. Once it is, it stays so until the group breaks.
// But what was asked when a wait began, answered or not, is asked once more when the wait is over. What is not confirmed yet when a list
// comes is confirmed as of the list: its watch may have skipped the version that the question was about.
func (d *domain) settleConfirmation(i int, k *knowledge) {
	state := d.find(i)
	g := d.sequence.groups[i]
	known, relisted := k.questions.knownOfAll(g.subjects), k.questions.relisted.Of(g.subjects)
	state.witness.Relisted(relisted)
	state.witness.Settle(known)
	if !state.satisfied || (d.isNode() && d.node == nil) {
		state.confirmed, state.waitConfirmed = false, false
		return
	}
	over := g.Wait == 0 || !k.now.Before(d.waitOver(i))
	if g.NeedsNoPods {
		state.confirmed, state.waitConfirmed = true, over // nothing that may be missing says otherwise
		return
	}
	if g.Wait > 0 && over && !state.waitConfirmed {
		state.confirmed, state.question = false, k.questions.nowMoment()
	}
	if !state.confirmed {
		state.question = state.question.And(relisted)
		state.confirmed = known >= state.question.Moment
	}
	state.waitConfirmed = over
}

// A group that was satisfied before it was reached may have broken meanwhile, and the event that says so may be missing. So it must
// be confirmed as of a moment at which the groups that it waits for were passed.

// confirmedSinceReached reports whether it is confirmed that the group, which is satisfied, was so when it was reached, unless it has
// yet to be reached.
func (d *domain) confirmedSinceReached(i int) bool {
	g := d.sequence.groups[i]
	return !d.Reached.Has(i) || d.reachedBefore.Has(i) || g.NeedsNoPods || d.sequence.knowledge.questions.knownOfAll(g.subjects) >= d.reachedAsOf(i).Moment
}

// reachedAsOf is about everything until the groups were passed that a group waits for. One that is satisfied was passed at the moment as
// of which that is confirmed; of others nothing says at which moment they were.
func (d *domain) reachedAsOf(i int) Question {
	q := &d.sequence.knowledge.questions
	if q.reachedAsOf.known.Has(i) {
		return q.reachedAsOf.questions[i]
	}
	asOf := Question{}
	for awaited := range d.sequence.groups[i].Direct.All() {
		asOf = asOf.And(d.reachedAsOf(awaited)) // through these it waits for the others
		switch state := d.find(awaited); {
		case d.needsNothing(awaited):
		case state != nil && state.satisfied && state.confirmed:
			asOf = asOf.And(state.question)
		default:
			asOf = q.nowMoment()
		}
	}
	q.reachedAsOf.questions[i] = asOf
	q.reachedAsOf.known.Add(i)
	return asOf
}

// reconfirmReached asks for another confirmation of the groups that have just been reached and are confirmed only as of an
// earlier moment.
func (d *domain) reconfirmReached() {
	for i := range (d.Reached &^ d.reachedBefore &^ d.Passed).All() {
		state := d.find(i)
		if state == nil {
			continue
		}
		state.reachedAsOf = d.reachedAsOf(i)
		if state.satisfied && !d.confirmedSinceReached(i) {
			state.question, state.confirmed = state.question.And(state.reachedAsOf), false
		}
	}
	d.reachedBefore = d.Reached
}

// pictureAsOf is the newest version of what the picture consists of in which the group is satisfied: what changed it, what was passed
// before it, and the last list that matters to it.
func (s *groupState) pictureAsOf(relisted Question) string {
	return inventory.Newest(s.asOf, s.reachedAsOf.Version, relisted.Version)
}

// earlyIn returns the pod's place in the first sequence for which the pod came so lately that a change made before it, of what it must
// wait for, may be missing; nil if there is none.
func (q *questions) earlyIn(p *pod) *membership {
	if p.Bound() || p.confirmed >= p.placed.Moment {
		return nil
	}
	for i := range p.memberships() {
		m := &p.memberships()[i]
		before := m.sequence.groups[m.group].subjectsBefore
		if m.holdFacts().IsRevocable() && q.knownOfAll(before) < max(p.placed.Moment, q.relisted.Of(before).Moment) {
			return m
		}
	}
	return nil
}

func (c *Changes) ask(subject Subject, question Question) {
	if c.Questions == nil {
		c.Questions = Questions{}
	}
	c.Questions.Add(subject, question)
}

// refreshSubjects works out anew what matters to whether groups are satisfied, and those that they wait for still are.
func (s *sequence) refreshSubjects() {
	for i, g := range s.groups {
		matters := spec.GroupSet(1) << i
		if s.Continuous || s.PerNode {
			matters |= g.Awaited // whoever waits for the group also waits for these, all at the same time
		}
		g.subjects = confirmation.SubjectsOf(s.Sequence, matters, s.namespacesOf)
		g.subjectsBefore = confirmation.SubjectsOf(s.Sequence, g.Awaited, s.namespacesOf)
	}
}

func (s *sequence) namespacesOf(group int) map[string]struct{} { return s.groups[group].namespaces }

package sequence

import (
	"math"

	"example.com/podsequence/pkg/sequence/confirmation"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/spec"
)

// at makes the transaction of an event of this version. The compiler inlines it, so that the transaction of a pod's event is on the
// stack.
func (q *questions) at(version string) *transaction {
	return &transaction{Question: q.nextMoment(version), version: version}
}

// nextMoment counts an event of this version. Who misses nothing from before a later moment misses nothing from before an earlier one:
// the question is about the newest version, whatever that of the event.
func (q *questions) nextMoment(version string) Question {
	if inventory.Behind(q.newest, version) {
		q.newest = version
	}
	return Question{Moment: q.moment.Add(1), Version: q.newest}
}

// relistedAt makes the transaction of a list of this version.
func (q *questions) relistedAt(version string) *transaction {
	tx := q.at(version)
	tx.relisted = true
	return tx
}

// relistedOf makes the transaction of a list of what questions about these kinds are about.
func (q *questions) relistedOf(kinds Kinds, version string) *transaction {
	tx := q.relistedAt(version)
	q.relisted.Add(kinds, tx.Question)
	return tx
}

// confirm notes that no event of a subject is missing that had happened at a moment.
func (q *questions) confirm(subject Subject, moment uint64, tx *transaction) {
	u := q.unconfirmed[subject.Namespace]
	if u == nil || !u.known.Confirm(subject.Kinds, moment) {
		return
	}
	for d := range u.domains {
		tx.markDirty(d)
	}
	for p := range u.pods {
		q.forgetPod(p)
		tx.dirtyPods = append(tx.dirtyPods, p)
	}
	u.domains, u.pods = map[*domain]struct{}{}, map[*pod]struct{}{} // what is still unconfirmed comes back
	if len(q.askedForPod) == 0 {
		q.askedForPod = map[*pod][]Subject{} // a map keeps the room that it once needed
	}
}

// known is the moment up to which no event of the subject is missing.
func (q *questions) known(subject Subject) uint64 {
	known := uint64(0)
	if u := q.unconfirmed[subject.Namespace]; u != nil {
		known = u.known[subject.Kinds]
	}
	if everywhere := q.unconfirmed[""]; everywhere != nil {
		known = max(known, everywhere.known[subject.Kinds])
	}
	return known
}

// knownOfAll is the moment up to which no event of any of the subjects is missing.
func (q *questions) knownOfAll(subjects []Subject) uint64 {
	known := uint64(math.MaxUint64)
	for _, subject := range subjects {
		known = min(known, q.known(subject))
	}
	return known
}

func (q *questions) unconfirmedIn(namespace string) *unconfirmed {
	u := q.unconfirmed[namespace]
	if u == nil {
		u = &unconfirmed{domains: map[*domain]struct{}{}, pods: map[*pod]struct{}{}}
		q.unconfirmed[namespace] = u
	}
	return u
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

// forgetPod withdraws what a pod asked, and forgetDomain what a domain asked: an answer no longer re-evaluates them.
func (q *questions) forgetPod(p *pod) {
	for _, subject := range q.askedForPod[p] {
		if u := q.unconfirmed[subject.Namespace]; u != nil {
			delete(u.pods, p)
		}
	}
	delete(q.askedForPod, p)
}

func (q *questions) forgetDomain(d *domain) {
	for _, subject := range d.asks {
		if u := q.unconfirmed[subject.Namespace]; u != nil {
			delete(u.domains, d)
		}
	}
	d.asks = nil
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

// nowMoment is a question about everything until now.
func (q *questions) nowMoment() Question { return Question{Moment: q.moment.Load(), Version: q.newest} }

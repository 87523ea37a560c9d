package sequence

import (
	"math"

	"example.com/podsequence/pkg/sequence/confirmation"
	"example.com/podsequence/pkg/sequence/inventory"
)

// unconfirmed are what waits for an answer about one namespace, or, without a name, about all of them.
type unconfirmed struct {
	known   confirmation.Known
	domains map[*domain]struct{}
	pods    map[*pod]struct{}
}

// Confirm tells the engine that it has been told of every event of a subject that had happened at one of its moments.
func (e *Engine) Confirm(subject Subject, moment uint64) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()

	tx := &transaction{}
	if u := e.unconfirmed[subject.Namespace]; u != nil && u.known.Confirm(subject.Kinds, moment) {
		for d := range u.domains {
			tx.touch(d)
		}
		for p := range u.pods {
			tx.pods = append(tx.pods, p)
		}
		u.domains, u.pods = map[*domain]struct{}{}, map[*pod]struct{}{} // what is still unconfirmed comes back
	}
	return e.settle(tx)
}

// known is the moment up to which no event of the subject is missing.
func (e *Engine) known(subject Subject) uint64 {
	known := uint64(0)
	if u := e.unconfirmed[subject.Namespace]; u != nil {
		known = u.known[subject.Kinds]
	}
	if everywhere := e.unconfirmed[""]; everywhere != nil {
		known = max(known, everywhere.known[subject.Kinds])
	}
	return known
}

// knownOfAll is the moment up to which no event of any of the subjects is missing.
func (e *Engine) knownOfAll(subjects []Subject) uint64 {
	known := uint64(math.MaxUint64)
	for _, subject := range subjects {
		known = min(known, e.known(subject))
	}
	return known
}

func (e *Engine) unconfirmedIn(namespace string) *unconfirmed {
	u := e.unconfirmed[namespace]
	if u == nil {
		u = &unconfirmed{domains: map[*domain]struct{}{}, pods: map[*pod]struct{}{}}
		e.unconfirmed[namespace] = u
	}
	return u
}

// refreshSubjects works out anew what matters to whether groups are satisfied.
func (s *sequence) refreshSubjects() {
	for i, g := range s.groups {
		g.subjects = confirmation.SubjectsOf(s.Sequence, 1<<i, s.namespacesOf)
		g.subjectsBefore = confirmation.SubjectsOf(s.Sequence, g.Awaited, s.namespacesOf)
	}
}

func (s *sequence) namespacesOf(group int) map[string]struct{} { return s.groups[group].namespaces }

// askForPod has a pod wait that would go if nothing was missing.
func (e *Engine) askForPod(p *pod, m *membership, changes *Changes) {
	e.forgetAskedPod(p)
	for _, subject := range m.sequence.groups[m.group].subjectsBefore {
		if e.known(subject) < p.placed.Moment {
			e.unconfirmedIn(subject.Namespace).pods[p] = struct{}{}
			p.asks = append(p.asks, subject)
			changes.ask(subject, p.placed)
		}
	}
}

// forgetAskedPod has a pod, and forgetAsked a domain, not be looked at when an answer comes.
func (e *Engine) forgetAskedPod(p *pod) {
	if len(p.asks) == 0 {
		return // nobody writes to what all bound pods share
	}
	for _, subject := range p.asks {
		if u := e.unconfirmed[subject.Namespace]; u != nil {
			delete(u.pods, p)
		}
	}
	p.asks = nil
}

func (e *Engine) forgetAsked(d *domain) {
	for _, subject := range d.asks {
		if u := e.unconfirmed[subject.Namespace]; u != nil {
			delete(u.domains, d)
		}
	}
	d.asks = nil
}

// askForDomain has a domain looked at again when nothing is missing any more, if there is a group in it for which that matters.
func (e *Engine) askForDomain(d *domain, changes *Changes) {
	s := d.sequence
	d.unconfirmed = false
	e.forgetAsked(d)
	ask := func(i int, question Question) {
		d.unconfirmed = true
		for _, subject := range s.groups[i].subjects {
			if e.known(subject) < question.Moment {
				e.unconfirmedIn(subject.Namespace).domains[d] = struct{}{}
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
			if s.groups[i].Wait == 0 && !s.Continuous {
				state.witness.Call(state.question, state.since)
			}
		}
		if state.witness.Waits() {
			ask(i, state.witness.Question)
		}
	}
}

// settleConfirmation works out whether it is confirmed that the group is satisfied. Once it is, it stays so until the group breaks.
// But what was confirmed when a wait began must be confirmed once more when the wait is over.
func (d *domain) settleConfirmation(i int, e *Engine) {
	state := d.find(i)
	known := e.knownOfAll(d.sequence.groups[i].subjects)
	state.witness.Settle(known)
	if !state.satisfied || (d.isNode() && d.node == nil) {
		state.confirmed, state.waitConfirmed = false, false
		return
	}
	over := d.sequence.groups[i].Wait == 0 || !e.now.Before(d.waitOver(i))
	if d.sequence.groups[i].NeedsNoPods {
		state.confirmed, state.waitConfirmed = true, over // nothing that may be missing says otherwise
		return
	}
	if state.confirmed && over && !state.waitConfirmed {
		state.confirmed, state.question = false, e.nowMoment()
	}
	state.confirmed = state.confirmed || known >= state.question.Moment
	state.waitConfirmed = over
}

// isEarly reports whether the pod came so lately that a change made before it, of what it must wait for, may be missing. What
// is passed permanently needs no such care.
func (e *Engine) isEarly(p *pod) bool {
	_, early := e.earlyIn(p)
	return early
}

// earlyIn tells in which sequence.
func (e *Engine) earlyIn(p *pod) (*membership, bool) {
	if p.Bound() || p.confirmed >= p.placed.Moment {
		return nil, false
	}
	for i := range p.memberships {
		m := &p.memberships[i]
		if s := m.sequence; s.groups[m.group].Awaited != 0 && !s.DryRun && (s.PerNode || s.Continuous) &&
			e.knownOfAll(s.groups[m.group].subjectsBefore) < p.placed.Moment {
			return m, true
		}
	}
	return nil, false
}

// at makes the transaction of an event of this version.
func (e *Engine) at(version string) *transaction {
	if inventory.Behind(e.newest, version) {
		e.newest = version
	}
	return &transaction{Question: Question{Moment: e.moment.Add(1), Version: version}}
}

// relistedAt makes the transaction of a list of this version.
func (e *Engine) relistedAt(version string) *transaction {
	tx := e.at(version)
	tx.relisted = true
	return tx
}

// Moment counts the events that the engine has been told of. What is found to be there after it was read was known, if it
// was there before, when the events up to the moment were entered. The last of them may be on the way in.
func (e *Engine) Moment() uint64 { return e.moment.Load() }

// nowMoment is a question about everything until now.
func (e *Engine) nowMoment() Question { return Question{Moment: e.moment.Load(), Version: e.newest} }

func (c *Changes) ask(subject Subject, question Question) {
	if c.Questions == nil {
		c.Questions = Questions{}
	}
	c.Questions.Add(subject, question)
}

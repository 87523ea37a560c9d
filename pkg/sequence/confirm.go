package sequence

import (
	"example.com/podsequence/pkg/sequence/inventory"
)

// What the engine knows comes through one watch for each kind, and these are not in step. A pod of the second group may
// be seen before the change of a Deployment that was made before the pod was, and that says that the first group is not
// ready any more; the last pod of a group may be seen to be ready before it is seen that a moment ago more were asked
// for. A pass that rests on such a picture would be one that the cluster never gave.
//
// So what is about to be released is first unconfirmed. The engine asks: is anything missing up to the version of the newest event
// that this rests on? Once Confirm says no, and no event that came meanwhile has changed the picture, the picture is that of
// the cluster at that version. Doubted are groups that turn ready, and pods that come to a sequence in which what is ready may
// stop being so. Elsewhere what was passed stays passed, whatever is missing.

// Kinds are the kinds of objects that a question is about. Each has all that are before it.
type Kinds uint8

const (
	// OfPods is pods only: nothing else matters to a group of named pods.
	OfPods Kinds = iota
	// OfDaemonSets is pods and DaemonSets: nothing else matters on a node.
	OfDaemonSets
	// OfWorkloads is pods and all kinds of workloads.
	OfWorkloads
)

// KindsWith returns the fewest that have a kind.
func KindsWith(kind WorkloadKind) Kinds {
	switch kind {
	case KindPod:
		return OfPods
	case KindDaemonSet:
		return OfDaemonSets
	}
	return OfWorkloads
}

// Subject is what a question is about, and where.
type Subject struct {
	Namespace string
	Kinds     Kinds
}

// Question asks for everything to be made known that there was when it arose. Engine.Confirm answers.
type Question struct {
	// Moment is when it arose, see Engine.Moment.
	Moment uint64
	// Version is the newest of the events from which it arose. Where resource versions of different kinds can be compared, a
	// watch that has come past it misses nothing from before it.
	Version string
}

// Questions are what is asked, by subject.
type Questions map[Subject]Question

// unconfirmed are what waits in one namespace for an answer.
type unconfirmed struct {
	// known are the moments up to which no event is missing, by what questions are about.
	known   [OfWorkloads + 1]uint64
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
	if u := e.unconfirmed[subject.Namespace]; u != nil && u.known[subject.Kinds] < moment {
		for i := range u.known[:subject.Kinds+1] {
			u.known[i] = max(u.known[i], moment)
		}
		for d := range u.domains {
			tx.touch(d)
		}
		for p := range u.pods {
			tx.placed = append(tx.placed, placedPod{p, true, true})
		}
		u.domains, u.pods = map[*domain]struct{}{}, map[*pod]struct{}{} // what is still unconfirmed comes back
	}
	return e.settle(tx)
}

// known is the moment up to which no event of the subject is missing.
func (e *Engine) known(namespace string, kinds Kinds) uint64 {
	if u := e.unconfirmed[namespace]; u != nil {
		return u.known[kinds]
	}
	return 0
}

func (e *Engine) unconfirmedIn(namespace string) *unconfirmed {
	u := e.unconfirmed[namespace]
	if u == nil {
		u = &unconfirmed{domains: map[*domain]struct{}{}, pods: map[*pod]struct{}{}}
		e.unconfirmed[namespace] = u
	}
	return u
}

// kindsOf are the kinds that matter to whether the group is satisfied.
func (s *sequence) kindsOf(group int) Kinds {
	switch {
	case s.groups[group].Selector == nil:
		return OfPods
	case s.PerNode:
		return OfDaemonSets
	}
	return OfWorkloads
}

// kindsBefore are the kinds that matter to whether the groups before one are satisfied.
func (s *sequence) kindsBefore(group int) Kinds {
	widest := OfPods
	for i := range group {
		widest = max(widest, s.kindsOf(i))
	}
	return widest
}

// askForPod has a pod wait that would go if nothing was missing.
func (e *Engine) askForPod(p *pod, m *membership, changes *Changes) {
	e.unconfirmedIn(p.Namespace).pods[p] = struct{}{}
	changes.ask(Subject{p.Namespace, m.sequence.kindsBefore(m.group)}, p.placed)
}

// askForDomain has a domain looked at again when nothing is missing any more, if there is a group in it for which that matters.
func (e *Engine) askForDomain(d *domain, changes *Changes) {
	s := d.sequence
	d.unconfirmed = false
	for i := d.firstUndecided(); i < d.undecided(); i++ {
		state := d.find(i)
		if state == nil {
			continue
		}
		if state.satisfied && !state.confirmed && d.applies(s.groups[i]) {
			d.unconfirmed = true
			changes.ask(Subject{s.Namespace, s.kindsOf(i)}, state.question)
			if s.groups[i].Wait == 0 && !s.Continuous {
				state.witness.call(state.question, state.since)
			}
		}
		if state.witness.waits() {
			d.unconfirmed = true
			changes.ask(Subject{s.Namespace, s.kindsOf(i)}, state.witness.Question)
		}
	}
	if d.unconfirmed {
		e.unconfirmedIn(s.Namespace).domains[d] = struct{}{}
	} else if u := e.unconfirmed[s.Namespace]; u != nil {
		delete(u.domains, d)
	}
}

// firstUndecided is the first of the groups for which it matters whether they are satisfied. Where a pass may be lost, that of
// a group that was too late is replaced by that of one that is ready.
func (d *domain) firstUndecided() int {
	if d.sequence.Continuous {
		return 0
	}
	return d.current()
}

// undecided is the end of these groups.
func (d *domain) undecided() int {
	switch {
	case !d.sequence.PerNode:
		return min(d.current()+1, len(d.sequence.groups))
	case d.node == nil:
		return 0 // it does not go on
	}
	return len(d.sequence.groups)
}

// settleConfirmation works out whether it is confirmed that the group is satisfied. Once it is, it stays so until the group breaks.
// But what was confirmed when a wait began must be confirmed once more when the wait is over.
func (d *domain) settleConfirmation(i int, e *Engine) {
	state := d.find(i)
	known := e.known(d.sequence.Namespace, d.sequence.kindsOf(i))
	state.witness.settle(known)
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
	if p.Bound() {
		return nil, false
	}
	for i := range p.memberships {
		m := &p.memberships[i]
		if s := m.sequence; m.group > 0 && (s.PerNode || s.Continuous) &&
			e.known(p.Namespace, s.kindsBefore(m.group)) < p.placed.Moment {
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
	return &transaction{Question: Question{e.moment.Add(1), version}}
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
func (e *Engine) nowMoment() Question { return Question{e.moment.Load(), e.newest} }

func (c *Changes) ask(subject Subject, question Question) {
	if c.Questions == nil {
		c.Questions = Questions{}
	}
	c.Questions.Add(subject, question)
}

// Add adds a question; one answer must do for all about the same subject.
func (q Questions) Add(subject Subject, question Question) {
	q[subject] = q[subject].and(question)
}

// and is a question whose answer answers both.
func (q Question) and(other Question) Question {
	q.Moment = max(q.Moment, other.Moment)
	if inventory.Behind(q.Version, other.Version) {
		q.Version = other.Version
	}
	return q
}

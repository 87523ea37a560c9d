package sequence

import (
	"example.com/podsequence/pkg/sequence/inventory"
)

// What the engine knows comes through one watch for each kind, and these are not in step. A pod of the second group may
// be seen before the change of a Deployment that was made before the pod was, and that says that the first group is not
// ready any more; the last pod of a group may be seen to be ready before it is seen that a moment ago more were asked
// for. A pass that rests on such a picture would be one that the cluster never gave.
//
// So what is about to be let go is first doubted. The engine asks: is anything missing up to the version of the newest event
// that this rests on? Once Confirm says no, and no event that came meanwhile has changed the picture, the picture is that of
// the cluster at that version. Doubted are groups that turn ready, and pods that come to a sequence in which what is ready may
// stop being so. Elsewhere what was passed stays passed, whatever is missing.

// Breadth says what a question is about.
type Breadth uint8

const (
	// OfPods is pods only: nothing else matters to a group of named pods.
	OfPods Breadth = iota
	// OfDaemonSets is pods and DaemonSets: nothing else matters on a node.
	OfDaemonSets
	// OfWorkloads is pods and all kinds of workloads.
	OfWorkloads
)

// Subject is what a question is about, and where.
type Subject struct {
	Namespace string
	Breadth   Breadth
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

// doubts are what waits in one namespace for an answer.
type doubts struct {
	// known are the moments up to which no event is missing, by breadth.
	known [OfWorkloads + 1]uint64
	lanes map[*lane]struct{}
	pods  map[*pod]struct{}
}

// Confirm tells the engine that it has been told of every event of a subject that had happened at one of its moments.
func (e *Engine) Confirm(subject Subject, moment uint64) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()

	b := &batch{}
	if d := e.doubts[subject.Namespace]; d != nil && d.known[subject.Breadth] < moment {
		for i := range d.known[:subject.Breadth+1] {
			d.known[i] = max(d.known[i], moment)
		}
		for l := range d.lanes {
			b.touch(l)
		}
		for p := range d.pods {
			b.placed = append(b.placed, placedPod{p, true, true})
		}
		d.lanes, d.pods = map[*lane]struct{}{}, map[*pod]struct{}{} // what is still in doubt comes back
	}
	return e.settle(b)
}

// known is the moment up to which no event of the subject is missing.
func (e *Engine) known(namespace string, breadth Breadth) uint64 {
	if d := e.doubts[namespace]; d != nil {
		return d.known[breadth]
	}
	return 0
}

func (e *Engine) doubtsOf(namespace string) *doubts {
	d := e.doubts[namespace]
	if d == nil {
		d = &doubts{lanes: map[*lane]struct{}{}, pods: map[*pod]struct{}{}}
		e.doubts[namespace] = d
	}
	return d
}

// breadth is what matters to whether the group is satisfied.
func (s *sequence) breadth(group int) Breadth {
	switch {
	case s.groups[group].Selector == nil:
		return OfPods
	case s.PerNode:
		return OfDaemonSets
	}
	return OfWorkloads
}

// breadthBefore is what matters to whether the groups before one are satisfied.
func (s *sequence) breadthBefore(group int) Breadth {
	widest := OfPods
	for i := range group {
		widest = max(widest, s.breadth(i))
	}
	return widest
}

// doubtPod has a pod wait that would go if nothing was missing.
func (e *Engine) doubtPod(p *pod, m *membership, changes *Changes) {
	e.doubtsOf(p.Namespace).pods[p] = struct{}{}
	changes.ask(Subject{p.Namespace, m.sequence.breadthBefore(m.group)}, p.placed)
}

// doubtLane has a lane looked at again when nothing is missing any more, if there is a group in it for which that matters.
func (e *Engine) doubtLane(l *lane, changes *Changes) {
	s := l.sequence
	l.doubted = false
	for i := l.firstUndecided(); i < l.undecided(); i++ {
		t := l.find(i)
		if t == nil {
			continue
		}
		if t.satisfied && !t.sure && l.applies(s.groups[i]) {
			l.doubted = true
			changes.ask(Subject{s.Namespace, s.breadth(i)}, t.doubt)
			if s.groups[i].Wait == 0 && !s.Continuous {
				t.witness.call(t.doubt, t.since)
			}
		}
		if t.witness.waits() {
			l.doubted = true
			changes.ask(Subject{s.Namespace, s.breadth(i)}, t.witness.Question)
		}
	}
	if l.doubted {
		e.doubtsOf(s.Namespace).lanes[l] = struct{}{}
	} else if d := e.doubts[s.Namespace]; d != nil {
		delete(d.lanes, l)
	}
}

// firstUndecided is the first of the groups for which it matters whether they are satisfied. Where a pass may be lost, that of
// a group that was too late is replaced by that of one that is ready.
func (l *lane) firstUndecided() int {
	if l.sequence.Continuous {
		return 0
	}
	return l.current
}

// undecided is the end of these groups.
func (l *lane) undecided() int {
	switch {
	case !l.sequence.PerNode:
		return min(l.current+1, len(l.sequence.groups))
	case l.node == nil:
		return 0 // it does not go on
	}
	return len(l.sequence.groups)
}

// settleDoubt works out whether it is sure that the group is satisfied. Once it is, it stays so until the group breaks, but
// that what was sure when a wait began is doubted once more when the wait is over.
func (l *lane) settleDoubt(i int, e *Engine) {
	t := l.find(i)
	known := e.known(l.sequence.Namespace, l.sequence.breadth(i))
	t.witness.settle(known)
	if !t.satisfied || (l.isNode() && l.node == nil) {
		t.sure, t.waited = false, false
		return
	}
	over := l.sequence.groups[i].Wait == 0 || !e.now.Before(l.waitOver(i))
	if l.sequence.groups[i].NeedsNoPods {
		t.sure, t.waited = true, over // nothing that may be missing says otherwise
		return
	}
	if t.sure && over && !t.waited {
		t.sure, t.doubt = false, e.nowMoment()
	}
	t.sure = t.sure || known >= t.doubt.Moment
	t.waited = over
}

// isEarly tells whether the pod came so lately that a change made before it, of what it must wait for, may be missing. What
// is passed for good needs no such care.
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
			e.known(p.Namespace, s.breadthBefore(m.group)) < p.placed.Moment {
			return m, true
		}
	}
	return nil, false
}

// at makes the batch of an event of this version.
func (e *Engine) at(version string) *batch {
	if inventory.Behind(e.newest, version) {
		e.newest = version
	}
	return &batch{Question: Question{e.moment.Add(1), version}}
}

// relistedAt makes the batch of a list of this version.
func (e *Engine) relistedAt(version string) *batch {
	b := e.at(version)
	b.relisted = true
	return b
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

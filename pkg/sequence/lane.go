package sequence

import (
	"time"
)

// lane is where the groups of a sequence are passed in order: the whole cluster, or one node.
type lane struct {
	sequence *sequence
	name     string // of the node; empty for the cluster, and for what is not bound yet
	node     *node  // nil for the cluster, and while the node is not known

	// tallies are those of the groups that have or had something here, in order; of scope Cluster all. See find and peek.
	tallies []*tally
	// once are the groups that were satisfied while they were released.
	once bitSet

	// current is the first group not passed; len(groups) when all are.
	current int
	// released is the number of groups whose pods may go: current+1, but while the sequence is suspended no more than freed.
	released int
	// freed is the number of groups that had been let go when the sequence was suspended.
	freed int
	// evidence is the group that some bound pod, or status, proves to have been let go.
	evidence int
	// passes has when the groups before current were passed, as far as that is known.
	// Where nothing is there is only lastPass, the last of them.
	passes   []time.Time
	lastPass time.Time
	// coming is the current group if it has pods, or a DaemonSet due here, and may yet be passed; otherwise the number of groups.
	coming int

	// wake is when time alone will change something; zero for never. alarm is set to it.
	wake  time.Time
	alarm alarm

	// doubted tells that it would go on if it was sure that no event is missing.
	doubted bool

	evaluated bool // it has been settled at least once
	touched   bool // it will be settled at the end of this batch
	told      told // when it was last settled; guarded by the sequence's lanesMu
}

// told is what the pods of a lane were last let go by.
type told struct {
	released, coming, current int
	known                     bool // the node was
}

// unheard is in the place of told.released for the lanes of a sequence that is new, or new in this form.
const unheard = -1

func (l *lane) now() told { return told{l.released, l.coming, l.current, l.node != nil} }

// publish has how far the lane is read from now on.
func (l *lane) publish() {
	l.sequence.lanesMu.Lock()
	defer l.sequence.lanesMu.Unlock()
	l.told = l.now()
}

// laneOf is the lane in which the pod counts.
func (s *sequence) laneOf(p *pod) *lane {
	name := ""
	if s.PerNode {
		name = p.Node
	}
	return s.laneAt(name)
}

// isNode tells whether the lane is that of a node.
func (l *lane) isNode() bool { return l.name != "" }

// applies tells whether the group is for this lane.
func (l *lane) applies(g *group) bool { return l.node == nil || g.AppliesTo(l.node.Object.Labels) }

// evaluate brings what is known of each group up to the sums, which the batch may have changed. It must come before
// advance.
func (l *lane) evaluate(e *Engine, b *batch) {
	question, relisted := b.Question, b.relisted
	if !l.evaluated {
		question = e.nowMoment()
	}
	for _, t := range l.tallies {
		i, question := t.group, question
		if l.evaluated && !t.dirty {
			l.settleDoubt(i, e)
			continue
		}
		facts := l.facts(i)
		need := facts.Need()
		satisfied := !l.sequence.refused() && facts.IsSatisfied(need)
		if t.changed.Moment == 0 {
			question = e.nowMoment() // until now nothing of it was looked at
		}
		t.changed = t.changed.and(question)
		if need.Ready = 0; !t.satisfied || need != t.counted || relisted {
			t.doubt, t.counted, t.sure = t.changed, need, false
		}
		if g := l.sequence.groups[i]; g.watchedSince.IsZero() {
			g.watchedSince = e.now.Truncate(time.Second)
		}
		t.witness.notice(b, e)
		t.since = l.satisfiedSince(i, satisfied, e)
		t.satisfied, t.dirty, t.turned = satisfied, false, time.Time{}
		l.settleDoubt(i, e)
	}
	l.evaluated = true
}

// passed tells whether the group is passed now, and when it was.
func (l *lane) passed(i int, now time.Time) (at time.Time, ok bool) {
	g, t := l.sequence.groups[i], l.peek(i)
	switch {
	case l.isNode() && l.node == nil:
		return time.Time{}, false // it may be gone, and it is not known which groups are for it
	case !l.applies(g):
		return l.skippedAt(i), true
	}
	if l.isSure(i) {
		at = l.waitOver(i)
		ok = g.Wait == 0 || !now.Before(at)
	}
	if !ok && t.witness.confirmed {
		at, ok = t.witness.since, true
	}
	if deadline := l.deadline(i); g.ContinueOnTimeout && l.timedOut(i, now) && (!ok || deadline.Before(at)) {
		return deadline, true
	}
	return at, ok
}

// skippedAt is when a group was passed that is not for this node: at once.
func (l *lane) skippedAt(i int) time.Time {
	return latest(latest(l.sequence.created, l.begunAt()), l.passedBefore(i))
}

// advance moves on to the first group that is not passed, and works out what follows from that.
func (l *lane) advance(now time.Time) {
	s := l.sequence
	if s.PerNode && !l.isNode() {
		return // nothing is bound here
	}
	if s.Continuous {
		l.current, l.passes, l.lastPass = 0, l.passes[:0], time.Time{}
	}
	for l.current < len(s.groups) {
		l.free()
		l.noteSatisfied(l.current, now)
		at, ok := l.passed(l.current, now)
		if !ok && (s.Continuous || l.current >= l.evidence) {
			break
		}
		if record := s.record(l.current); record.PassedAt != nil && !s.Continuous {
			at = record.PassedAt.Time
		} else if !ok {
			// Its pods were released in order, so it was satisfied once; when, nothing says.
			at = now.Truncate(time.Second)
			l.once.add(l.current)
		}
		l.pass(at)
	}
	l.free()
	l.plan(now)
	if n := len(l.passes); n > 0 && l.isNode() && len(l.tallies) == 0 {
		l.passes, l.lastPass = nil, l.passes[n-1]
	}
}

// free works out which groups may go.
func (l *lane) free() {
	s := l.sequence
	if s.refused() {
		return
	}
	if s.begun.Load() {
		l.freed = max(l.freed, 1)
	}
	l.released = l.current + 1
	if s.Suspended {
		l.released = min(l.released, l.freed)
	} else {
		l.freed = l.released
	}
}

// pass passes the current group, not before it was released.
func (l *lane) pass(at time.Time) {
	l.passes = append(l.passes, latest(at, l.releasedAt(l.current)))
	l.current++
}

// plan notes what the lane may still come to, and when time alone will change something.
func (l *lane) plan(now time.Time) {
	l.wake, l.coming = time.Time{}, len(l.sequence.groups)
	if l.isNode() && l.node == nil {
		return
	}
	for i := l.firstUndecided(); i < len(l.sequence.groups); i++ {
		// Of groups to come it matters only on a node, where others may have nothing to wait for.
		if !l.isNode() && i > l.current {
			break
		}
		if at := l.waitOver(i); l.looksSatisfied(i) && now.Before(at) && (l.wake.IsZero() || at.Before(l.wake)) {
			l.wake = at
		}
	}
	if l.current == len(l.sequence.groups) {
		return
	}
	if at := l.deadline(l.current); now.Before(at) && !l.satisfiedOnce(l.current) && (l.wake.IsZero() || at.Before(l.wake)) {
		l.wake = at
	}
	// What comes after a group that has nothing here, or that failed, is not on the way, whatever there is of it.
	if l.isNode() && l.need(l.current).Expected > 0 && (l.looksSatisfied(l.current) || !l.timedOut(l.current, now)) {
		l.coming = l.current
	}
}

// mayGo tells whether the members of the group may go in this lane.
func (l *lane) mayGo(group int) bool { return group < l.released }

// prove notes that the members of a group had been let go: the groups before it were passed.
func (l *lane) prove(group int) {
	l.evidence = max(l.evidence, group)
	if l.sequence.Suspended {
		l.freed = max(l.freed, group+1)
	}
}

// begin forgets what the lane came to before its node was known: it was another node, or the order of events.
func (l *lane) begin() {
	l.passes, l.current, l.freed, l.evidence, l.evaluated, l.once = nil, 0, 0, 0, false, nil
	for _, t := range l.tallies {
		t.satisfied, t.sure, t.waited = false, false, false
		t.since, t.turned, t.witness = time.Time{}, time.Time{}, witness{}
		for p := range t.members {
			if group, ok := p.provenGroup(l.sequence); ok {
				l.prove(group)
			}
		}
	}
}

// carry takes over what the lane of an earlier spec of the same object came to, as far as groups are defined the same.
func (l *lane) carry(old *lane, same int) {
	s := l.sequence
	for !s.Continuous && l.current < min(old.current, same) {
		l.passes = append(l.passes, old.passes[l.current])
		l.current++
	}
	for i := range same {
		if old.once.has(i) {
			l.once.add(i)
		}
		if before := old.find(i); before != nil && before.satisfied {
			t := l.tally(i)
			t.satisfied, t.sure, t.waited, t.since = true, before.sure, before.waited, before.since
			t.changed, t.doubt, t.counted = before.changed, before.doubt, before.counted
		}
	}
	if s.Suspended {
		l.freed = max(l.freed, min(old.freed, same))
	}
}

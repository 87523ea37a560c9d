package sequence

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
)

// lane is where the groups of a sequence are passed in order: the whole cluster, or one node.
type lane struct {
	sequence *sequence
	name     string // of the node; empty for the cluster, and for what is not bound yet
	node     *node  // nil for the cluster, and while the node is not known

	tallies []tally

	// current is the first group not passed; len(groups) when all are.
	current int
	// released is the number of groups whose pods may go: current+1, but while the sequence is suspended no more than freed.
	released int
	// freed is the number of groups that had been let go when the sequence was suspended.
	freed int
	// evidence is the group that some bound pod, or status, proves to have been let go.
	evidence int
	// passes has when the groups before current were passed, as far as that is known.
	passes []time.Time
	// coming is the first group from current on that has pods, or a DaemonSet due here, and is not passed but may yet be.
	coming int

	// wake is when time alone will change something; zero for never.
	wake time.Time

	// resumed is when the groups from resumedFrom on were let go after a suspension; zero if there was none.
	resumed     time.Time
	resumedFrom int

	// doubted tells that it would go on if it was sure that no event is missing.
	doubted bool

	evaluated bool // it has been settled at least once
	touched   bool // it will be settled at the end of this batch
	told      told // when it was last settled
}

// told is what the pods of a lane were last let go by.
type told struct {
	released, coming, current int
	known                     bool // the node was
}

// unheard is in the place of told.released for the lanes of a sequence that is new, or new in this form.
const unheard = -1

func (l *lane) now() told { return told{l.released, l.coming, l.current, l.node != nil} }

func (s *sequence) newLane(name string) *lane {
	l := &lane{sequence: s, name: name, tallies: make([]tally, len(s.groups)), coming: len(s.groups)}
	s.lanes[name] = l
	return l
}

// tally returns the sums of a group, for changing them.
func (l *lane) tally(group int) *tally {
	t := &l.tallies[group]
	t.dirty = true
	return t
}

// laneOf is the lane in which the pod counts.
func (s *sequence) laneOf(p *pod) *lane {
	name := ""
	if s.perNode {
		name = p.node
	}
	if l := s.lanes[name]; l != nil {
		return l
	}
	return s.newLane(name)
}

// isNode tells whether the lane is that of a node.
func (l *lane) isNode() bool { return l.name != "" }

// applies tells whether the group is for this lane.
func (l *lane) applies(g *group) bool {
	return g.nodeSelector == nil || l.node == nil || g.nodeSelector.Matches(labels.Set(l.node.object.Labels))
}

// evaluate brings what is known of each group up to the sums, which the batch may have changed. It must come before
// advance.
func (l *lane) evaluate(e *Engine, b *batch) {
	question, relisted := b.Question, b.relisted
	if !l.evaluated {
		question = e.nowMoment()
	}
	for i := range l.tallies {
		t := &l.tallies[i]
		if l.evaluated && !t.dirty {
			l.settleDoubt(i, e)
			continue
		}
		need := l.need(i)
		satisfied := l.isSatisfied(i, need)
		t.changed = t.changed.and(question)
		if need.ready = 0; !t.satisfied || need != t.counted || relisted {
			t.doubt, t.counted, t.sure = t.changed, need, false
		}
		switch {
		case !satisfied:
			t.since = time.Time{}
		case !l.evaluated && t.since.IsZero():
			t.since = l.provenSince(i, e)
		case !t.satisfied && !t.turned.IsZero():
			t.since = clamp(t.turned, e.now)
		case !t.satisfied:
			t.since = e.now.Truncate(time.Second)
		}
		t.satisfied, t.dirty, t.turned = satisfied, false, time.Time{}
		l.settleDoubt(i, e)
	}
	l.evaluated = true
}

// passed tells whether the group is passed now, and when it was.
func (l *lane) passed(i int, now time.Time) (at time.Time, ok bool) {
	g, t := l.sequence.groups[i], &l.tallies[i]
	switch {
	case l.isNode() && l.node == nil:
		return time.Time{}, false // it may be gone, and it is not known which groups are for it
	case !l.applies(g):
		return l.releasedAt(i), true
	}
	if t.sure {
		at = l.waitOver(i)
		ok = g.wait == 0 || !now.Before(at)
	}
	if late := l.tooLate(i); g.goOn && l.timedOut(i, now) && (!ok || late.Before(at)) {
		return late, true
	}
	return at, ok
}

// advance moves on to the first group that is not passed, and works out what follows from that.
func (l *lane) advance(now time.Time) {
	s := l.sequence
	if s.perNode && !l.isNode() {
		return // nothing is bound here
	}
	if s.continuous {
		l.current, l.passes = 0, l.passes[:0]
	}
	for l.current < len(s.groups) {
		l.free()
		l.noteInTime(l.current)
		at, ok := l.passed(l.current, now)
		if !ok && (s.continuous || l.current >= l.evidence) {
			break
		}
		if !ok {
			at = l.passedByNow(l.current, now)
		}
		l.pass(at)
	}
	l.free()
	l.plan(now)
}

// passedByNow is when a group was passed that is not satisfied any more: status may have it on record.
func (l *lane) passedByNow(i int, now time.Time) time.Time {
	if record := l.sequence.record(i); record.PassedAt != nil {
		return record.PassedAt.Time
	}
	return now.Truncate(time.Second)
}

// free works out which groups may go.
func (l *lane) free() {
	s := l.sequence
	if s.begun {
		l.freed = max(l.freed, 1)
	}
	l.released = l.current + 1
	if s.suspended {
		l.released = min(l.released, l.freed)
	} else {
		l.freed = l.released
	}
}

// pass passes the current group.
func (l *lane) pass(at time.Time) {
	l.passes = append(l.passes, at)
	l.current++
}

// plan notes what the lane may still come to, and when time alone will change something.
func (l *lane) plan(now time.Time) {
	l.wake, l.coming = time.Time{}, len(l.sequence.groups)
	if l.current == len(l.sequence.groups) || (l.isNode() && l.node == nil) {
		return
	}
	for i := l.current; i < len(l.tallies); i++ {
		// Of groups to come it matters only on a node, where others may have nothing to wait for.
		if at := l.waitOver(i); l.tallies[i].satisfied && now.Before(at) && (l.wake.IsZero() || at.Before(l.wake)) {
			l.wake = at
		}
		if !l.isNode() {
			break
		}
	}
	if at := l.tooLate(l.current); now.Before(at) && !l.tallies[l.current].inTime && (l.wake.IsZero() || at.Before(l.wake)) {
		l.wake = at
	}
	if !l.isNode() {
		return
	}
	for i := l.current; i < len(l.sequence.groups); i++ {
		g := l.sequence.groups[i]
		if !l.applies(g) || (!g.goOn && i == l.current && !l.tallies[i].satisfied && l.timedOut(i, now)) || l.need(i).expected == 0 {
			continue
		}
		if _, passed := l.passed(i, now); !passed {
			l.coming = i
			return
		}
	}
}

// mayGo tells whether the members of the group may go in this lane.
func (l *lane) mayGo(group int) bool { return group < l.released }

// prove notes that the members of a group had been let go: the groups before it were passed.
func (l *lane) prove(group int) {
	l.evidence = max(l.evidence, group)
	if l.sequence.suspended {
		l.freed = max(l.freed, group+1)
	}
}

// begin forgets what the lane came to before its node was known: it was another node, or the order of events.
func (l *lane) begin(ours sets.Set[string]) {
	l.passes, l.current, l.freed, l.evidence, l.evaluated = nil, 0, 0, 0, false
	for i := range l.tallies {
		t := &l.tallies[i]
		t.satisfied, t.sure, t.waited, t.inTime = false, false, false, false
		t.since, t.turned = time.Time{}, time.Time{}
		for p := range t.members {
			if ours.Has(p.schedulerName) {
				l.prove(i)
			}
		}
	}
}

// carry takes over what the lane of an earlier spec of the same object came to, as far as groups are defined the same.
func (l *lane) carry(old *lane, now time.Time) {
	s, before := l.sequence, old.sequence
	same := 0
	for same < min(len(s.groups), len(before.groups)) && s.groups[same].hash == before.groups[same].hash {
		same++
	}
	for !s.continuous && l.current < min(old.current, same) {
		l.pass(old.passes[l.current])
	}
	for i := range same {
		if t, before := &l.tallies[i], &old.tallies[i]; before.satisfied {
			t.satisfied, t.sure, t.waited, t.since = true, before.sure, before.waited, before.since
			t.changed, t.doubt, t.counted = before.changed, before.doubt, before.counted
		}
		l.tallies[i].inTime = old.tallies[i].inTime
	}
	if s.suspended {
		l.freed = max(l.freed, min(old.freed, same))
	}
	l.resumed, l.resumedFrom = old.resumed, old.resumedFrom
	if before.suspended && !s.suspended {
		l.resumed, l.resumedFrom = now.Truncate(time.Second), old.freed
	}
}

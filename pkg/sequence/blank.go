package sequence

import (
	"slices"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/report"
)

// Most nodes have nothing of most sequences: no member is bound there, and no DaemonSet is due. How far a sequence of scope Node
// is on such a blank node follows from the node's labels alone, so nothing is kept for it. A lane is made when something comes
// to the node, and dropped when it is as if nothing had ever been there.
//
// An eager sequence has a lane for every node, because its blank nodes differ in more: a time-out after which it goes on, or a
// wait of a group that needs no pods, counts from when the node and the sequence were there together, and a suspension keeps
// what it found where groups are not for every node.

// blank is how far the sequence is on a node where nothing of it is.
type blank struct{ current, released int }

func (s *sequence) blank(n *node) blank {
	at := blank{current: s.FirstOn(n.Object.Labels)}
	switch {
	case s.refused(), s.Suspended && !s.begun.Load():
		at.released = 0
	case s.Suspended:
		at.released = 1
	default:
		at.released = at.current + 1
	}
	return at
}

// tellBlank is the same as pods are let go by; the node may be nil.
func (s *sequence) tellBlank(n *node) told {
	if n == nil {
		return told{}
	}
	at := s.blank(n)
	return told{released: at.released, coming: len(s.groups), current: at.current, known: true}
}

// stateOn says what a node is to pods of the group.
func (s *sequence) stateOn(name string, group int) nodeState {
	if l := s.lanes[name]; l != nil {
		return l.state(group)
	}
	n := s.engine.nodes[name]
	if n == nil {
		return nodeClosed
	}
	switch at := s.blank(n); {
	case group < at.released:
		return nodeOpen
	case group <= at.current: // suspended
		return nodeComing
	}
	return nodeClosed
}

// describeOn says what a node waits for.
func (s *sequence) describeOn(d *report.Decision, n *node, now time.Time) {
	if l := s.lanes[n.Name]; l != nil {
		l.describe(d, now)
		return
	}
	l := lane{sequence: s, name: n.Name, node: n, evaluated: true}
	at := s.blank(n)
	l.current, l.released = at.current, at.released
	l.describe(d, now)
}

// blankMove is a node on which nothing of a sequence is, and how far it was there before this batch.
type blankMove struct {
	sequence *sequence
	node     string
	before   told
}

// moveBlank has it seen what it means that a node has changed, where nothing of the sequence is. before may be nil.
func (b *batch) moveBlank(s *sequence, name string, before *node) {
	b.blanks = append(b.blanks, blankMove{s, name, s.tellBlank(before)})
}

// begin notes that the first group has been let go.
func (s *sequence) begin(b *batch) {
	if !s.begun.Load() && s.Suspended {
		for _, l := range s.lanes {
			b.touch(l)
		}
		if s.PerNode {
			for name, n := range s.engine.nodes {
				if s.lanes[name] == nil {
					b.moveBlank(s, name, n)
				}
			}
		}
	}
	s.begun.Store(true)
}

// laneAt is the lane of a node, or of what is not bound or of scope Cluster. It is made if there is none yet.
func (s *sequence) laneAt(name string) *lane {
	if l := s.lanes[name]; l != nil {
		return l
	}
	return s.newLane(name, s.engine.nodes[name])
}

// newLane makes a lane where none is. before is its node as it was before this batch; nil if there was none.
func (s *sequence) newLane(name string, before *node) *lane {
	l := &lane{sequence: s, name: name, node: s.engine.nodes[name], coming: len(s.groups)}
	l.alarm.wake = func(b *batch) { b.touch(l) }
	l.takeOver(before)
	s.lanesMu.Lock()
	defer s.lanesMu.Unlock()
	s.lanes[name] = l
	return l
}

// takeOver has a new lane begin where the blank node was; nil if there was none.
func (l *lane) takeOver(before *node) {
	s := l.sequence
	if !s.PerNode {
		for i := range s.groups {
			l.tally(i)
		}
		return
	}
	moment := s.engine.moment.Load()
	if before == nil || before.listedAt == moment || s.listedAt == moment {
		return
	}
	l.told = s.tellBlank(before)
	if l.node.listedAt < moment { // it is not another node of that name: something comes to a blank node
		l.current, l.released, l.freed, l.evaluated = l.told.current, l.told.released, l.told.released, true
	}
}

// recall has a record heard of since when the current group is satisfied, if the lane is looked at for the first time.
func (l *lane) recall(record *v1alpha1.NodeStatus) {
	if i := int(record.CurrentIndex); !l.evaluated && i >= 0 && i < len(l.sequence.groups) && l.sequence.groups[i].NeedsNoPods {
		l.tally(i)
	}
}

// hasHistory reports whether something was there of which the future depends.
func (l *lane) hasHistory() bool { return len(l.once) > 0 || l.sequence.Suspended }

// isSpent reports whether the lane says no more than none would.
func (l *lane) isSpent() bool {
	if l.node == nil {
		return l.empty()
	}
	s := l.sequence
	l.tallies = slices.DeleteFunc(l.tallies, func(t *tally) bool { return l.isVoid(t) })
	return len(l.tallies) == 0 && !s.Eager && !l.hasHistory() && s.nodeRecords[l.name] == nil && l.told == s.tellBlank(l.node)
}

// isVoid reports whether nothing is in the group, and nothing is due.
func (l *lane) isVoid(t *tally) bool {
	g := l.sequence.groups[t.group]
	if len(t.members) > 0 || (t.satisfied && !(g.NeedsNoPods && (g.Wait == 0 || t.since.Equal(l.watchedSince(t.group))))) {
		return false
	}
	for share := range g.shares {
		if _, due := share.workload.due[l.name]; due {
			return false
		}
	}
	return true
}

// find returns the sums of a group; nil if nothing of it is or was here.
func (l *lane) find(group int) *tally {
	i, found := l.search(group)
	if !found {
		return nil
	}
	return l.tallies[i]
}

func (l *lane) search(group int) (int, bool) {
	return slices.BinarySearchFunc(l.tallies, group, func(t *tally, group int) int { return t.group - group })
}

// nothing is in the place of the sums of a group of which nothing is here. It is never written to.
var nothing = &tally{}

// peek returns the sums of a group, only for reading.
func (l *lane) peek(group int) *tally {
	if t := l.find(group); t != nil {
		return t
	}
	return nothing
}

// tally returns the sums of a group, for changing them.
func (l *lane) tally(group int) *tally {
	i, found := l.search(group)
	if !found {
		t := &tally{group: group}
		if l.evaluated && l.restsOnNothing(group) {
			t.satisfied, t.sure, t.since = true, true, l.since(group)
			t.waited = !l.sequence.engine.now.Before(l.waitOver(group))
		}
		l.tallies = slices.Insert(l.tallies, i, t)
	}
	t := l.tallies[i]
	t.dirty = true
	return t
}

// restsOnNothing reports whether the group is satisfied here whatever there is of it.
func (l *lane) restsOnNothing(group int) bool {
	return l.node != nil && l.sequence.groups[group].NeedsNoPods
}

// looksSatisfied reports whether the group is satisfied as far as is known, isSure whether that is sure, and since is since when
// it is.
func (l *lane) looksSatisfied(group int) bool {
	if t := l.find(group); t != nil {
		return t.satisfied
	}
	return l.restsOnNothing(group)
}

func (l *lane) isSure(group int) bool {
	if t := l.find(group); t != nil {
		return t.sure
	}
	return l.restsOnNothing(group)
}

func (l *lane) since(group int) time.Time {
	switch t := l.find(group); {
	case t != nil:
		return t.since
	case l.restsOnNothing(group):
		return l.watchedSince(group)
	}
	return time.Time{}
}

// watchedSince is since when the engine watches the group here, defined as it is.
func (l *lane) watchedSince(group int) time.Time {
	since := l.sequence.groups[group].watchedSince
	if l.node != nil {
		since = latest(since, l.node.seenAt)
	}
	return since
}

// bitSet is a set of small numbers.
type bitSet []uint64

func (s bitSet) has(i int) bool { return i/64 < len(s) && s[i/64]&(1<<(i%64)) != 0 }

func (s *bitSet) add(i int) {
	for len(*s) <= i/64 {
		*s = append(*s, 0)
	}
	(*s)[i/64] |= 1 << (i % 64)
}

func (s bitSet) remove(i int) {
	if s.has(i) {
		s[i/64] &^= 1 << (i % 64)
	}
}

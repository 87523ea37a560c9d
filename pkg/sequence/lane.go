package sequence

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
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

// tally counts one group in one lane.
type tally struct {
	members map[*pod]struct{}

	// expected counts the members that count by themselves, and ready those of them that are done. For a group by name,
	// ready counts the pods it names, even those that start with an earlier group.
	expected, ready int
	// uncertain counts those of them whose owner has not been seen yet: it may expect more.
	uncertain int
	// failed counts those that failed and that nobody replaces.
	failed int
	work   work

	satisfied bool
	inTime    bool      // it was satisfied, since its release, before its time was over
	since     time.Time // when it became satisfied; zero while it is not
	dirty     bool      // its sums changed in this batch
	turned    time.Time // the latest ready time of what this batch made count as done
}

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

// need is what a group waits for: how many, of how many, and how many there are.
type need struct {
	required, expected, ready int
	// certain tells whether it is known what to expect.
	certain bool
	// nothing tells that there is nothing to expect, and not because somebody said so.
	nothing bool
	// missing counts the DaemonSets that should have a pod on the node and have not.
	missing int
}

// need works out what the group waits for in this lane.
func (l *lane) need(i int) need {
	g, t := l.sequence.groups[i], &l.tallies[i]
	n := need{certain: true}
	switch {
	case l.isNode():
		n.missing = l.missing(g)
		n.expected, n.ready = t.expected+n.missing, t.ready
		n.nothing = n.expected == 0
	case g.selector == nil:
		n.expected, n.ready = len(g.names), t.ready
		n.nothing = n.expected == 0 // a group that makes no sense
	default:
		n.expected, n.ready = t.expected+t.work.need, t.ready+t.work.ready
		n.nothing = t.work.sources == 0 && t.expected == 0
		n.certain = t.uncertain == 0 && t.work.unobserved == 0
	}
	n.required = n.expected
	if g.minAvailable == nil {
		return n
	}
	// A percentage was checked when the group was compiled.
	n.required, _ = intstr.GetScaledValueFromIntOrPercent(g.minAvailable, n.expected, true)
	if g.minAvailable.Type == intstr.Int {
		// Whatever else there may be to expect, these are enough. A group that makes no sense has no members.
		n.ready = t.ready + t.work.observed
		n.certain, n.nothing = true, g.selector == nil && len(g.names) == 0
	}
	return n
}

// missing is the number of DaemonSets that should have a pod on the lane's node and have not.
func (l *lane) missing(g *group) int {
	missing := 0
	for share := range g.shares {
		w := share.workload
		if _, due := w.due[l.name]; due && w.onNode[l.name] == 0 {
			missing++
		}
	}
	return missing
}

// isSatisfied tells whether enough of the expected members are done now. A group of which nothing is known to expect is
// not: its pods may yet come.
func (l *lane) isSatisfied(i int) bool {
	n := l.need(i)
	if l.sequence.groups[i].unreadable || n.nothing || !n.certain || n.ready < n.required {
		return false
	}
	// Every workload by itself: the sums hide nothing, because a surplus is not entered. But a Job may have all the
	// pods it needs and not be complete.
	return l.sequence.groups[i].minAvailable != nil || l.tallies[i].work.short == 0
}

// evaluate brings what is known of each group up to the sums. It must come before advance.
func (l *lane) evaluate(e *Engine) {
	for i := range l.tallies {
		t := &l.tallies[i]
		if l.evaluated && !t.dirty {
			continue
		}
		satisfied := l.isSatisfied(i)
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
	}
	l.evaluated = true
}

// provenSince is since when the group is satisfied, from what the API says at one moment: when the last of as many pods
// as it needs turned ready, but not before the time that status has on record.
func (l *lane) provenSince(i int, e *Engine) time.Time {
	times := l.readyTimes(i, e)
	slices.SortFunc(times, time.Time.Compare)
	var since time.Time
	if k := len(times); k > 0 {
		if l.sequence.groups[i].minAvailable != nil {
			k = min(k, max(l.need(i).required, 1))
		}
		since = times[k-1]
	}
	if record := l.sequence.record(i); record.SatisfiedAt != nil && record.SatisfiedAt.After(since) && !l.isNode() {
		since = record.SatisfiedAt.Time
	}
	if since.IsZero() {
		since = e.now.Truncate(time.Second)
	}
	return clamp(since, e.now)
}

// readyTimes are when the pods that count as done turned ready.
func (l *lane) readyTimes(i int, e *Engine) []time.Time {
	s := l.sequence
	g := s.groups[i]
	var times []time.Time
	add := func(p *pod) {
		if p.done(g.required) {
			times = append(times, p.readyAt)
		}
	}
	if g.selector == nil && !l.isNode() {
		for j := range i + 1 { // a pod that this group names may start with an earlier one
			for p := range l.tallies[j].members {
				if _, named := g.names[p.name]; named {
					add(p)
				}
			}
		}
		return times
	}
	for share := range g.shares {
		if share.workload.complete {
			times = append(times, slices.Repeat([]time.Time{share.workload.completeAt}, share.entered.need)...)
		}
	}
	for p := range l.tallies[i].members {
		made := e.workloads.makerOf(p)
		if made.workload == nil || l.isNode() {
			if !made.unseen || l.isNode() {
				add(p)
			}
			continue
		}
		part := made.workload.shares[s]
		if part == nil || part.group != i || (part.isCurrent(made.revision) && !part.workload.complete) {
			add(p)
		}
	}
	return times
}

// record is what status says of a group that is still defined in the same way.
func (s *sequence) record(i int) v1alpha1.GroupStatus {
	if records := s.object.Status.Groups; i < len(records) && records[i].Hash == s.groups[i].hash {
		return records[i]
	}
	return v1alpha1.GroupStatus{}
}

// clamp takes a time in the future for now. While no time has been told, there is no future.
func clamp(t, now time.Time) time.Time {
	if !now.IsZero() && t.After(now) {
		return now.Truncate(time.Second)
	}
	return t
}

// fullSecondAfter is from when a wait counts that begins with a time of the API: these are cut to whole seconds.
func fullSecondAfter(t time.Time) time.Time { return t.Truncate(time.Second).Add(time.Second) }

// waitOver is when the wait of a satisfied group is over.
func (l *lane) waitOver(i int) time.Time {
	g, since := l.sequence.groups[i], l.tallies[i].since
	if g.wait == 0 {
		return since
	}
	return fullSecondAfter(since).Add(g.wait)
}

// tooLate is when the group's time is over; zero if it has no time-out, or is not released.
func (l *lane) tooLate(i int) time.Time {
	g := l.sequence.groups[i]
	if g.timeout == 0 || i > l.current || (l.sequence.suspended && !l.mayGo(i)) {
		return time.Time{}
	}
	return fullSecondAfter(l.releasedAt(i)).Add(g.timeout)
}

// timedOut tells whether the group's time is over and it was not satisfied before. That it broke after it had been
// satisfied in time is another matter.
func (l *lane) timedOut(i int, now time.Time) bool {
	at := l.tooLate(i)
	return !l.tallies[i].inTime && !at.IsZero() && !now.Before(at)
}

// noteInTime remembers of a released group that it was satisfied in time.
func (l *lane) noteInTime(i int) {
	if t, at := &l.tallies[i], l.tooLate(i); t.satisfied && t.since.Before(at) {
		t.inTime = true
	}
}

// releasedAt is when the group was let go: for the first, when there were a sequence, a node and a workload; for any other,
// when the group before was passed.
func (l *lane) releasedAt(i int) time.Time {
	s := l.sequence
	if record := s.record(i); record.ReleasedAt != nil && !l.isNode() {
		return record.ReleasedAt.Time
	}
	at := s.created
	if l.isNode() && l.node != nil {
		at = latest(at, l.node.object.CreationTimestamp.Time)
		for share := range s.groups[0].shares {
			if _, due := share.workload.due[l.name]; due {
				at = latest(at, share.workload.created)
			}
		}
	}
	if i >= l.resumedFrom {
		at = latest(at, l.resumed)
	}
	for _, passed := range l.passes[:min(i, len(l.passes))] {
		at = latest(at, passed)
	}
	return at
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// passes tells whether the group is passed now, and when it was.
func (l *lane) passed(i int, now time.Time) (at time.Time, ok bool) {
	g, t := l.sequence.groups[i], &l.tallies[i]
	switch {
	case l.isNode() && l.node == nil:
		return time.Time{}, false // it may be gone, and it is not known which groups are for it
	case !l.applies(g):
		return l.releasedAt(i), true
	}
	if t.satisfied {
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
		if t := &l.tallies[i]; old.tallies[i].satisfied {
			t.satisfied, t.since = true, old.tallies[i].since
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

package sequence

import (
	"slices"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

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
	if g.timeout == 0 || i > l.current || (l.isNode() && l.node == nil) || (l.sequence.suspended && !l.mayGo(i)) {
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
	if t, at := &l.tallies[i], l.tooLate(i); t.sure && t.since.Before(at) {
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

package progress

import (
	"slices"
	"time"

	"example.com/podsequence/pkg/sequence/spec"
)

// FullSecondAfter returns from when a wait counts that begins with a time of the API: these are cut to whole seconds.
func FullSecondAfter(t time.Time) time.Time { return t.Truncate(time.Second).Add(time.Second) }

// WaitOver returns when the wait of a group is over that is satisfied since a time.
func WaitOver(g *spec.Group, since time.Time) time.Time {
	if g.Wait == 0 {
		return since
	}
	return FullSecondAfter(since).Add(g.Wait)
}

// ReleasedAt returns when the group was released in the cluster: when there was the sequence, or, if that was later, when the groups that
// it waits for were passed. Under Continuous that is the last time.
func (s *State) ReleasedAt(d Domain, group int) time.Time {
	record := d.Recorded(group)
	before := s.passedBefore(d, group)
	origin := d.Origin(group)
	if record.ReleasedAt != nil && !d.Continuous && !record.ReleasedAt.Time.Before(before.Truncate(time.Second)) {
		// Else it was held again meanwhile, for a group that was skipped. The clock of who wrote it may have been behind.
		return latest(record.ReleasedAt.Time, origin.Created)
	}
	at := latest(latest(origin.Created, origin.Edited), origin.Resumed)
	if record.ChangedAt != nil {
		at = latest(at, record.ChangedAt.Time)
	}
	switch {
	case record.ReleasedAt != nil:
		at = latest(at, record.ReleasedAt.Time)
	case d.Groups[group].Timeout > 0:
		// What happened before this program watched, nobody has recorded.
		at = latest(at, origin.Watched)
	}
	return latest(at, before)
}

// passedBefore returns when the last of the groups was passed that this one waits for; zero if that is not known.
func (s *State) passedBefore(d Domain, group int) time.Time {
	at, awaited := time.Time{}, d.Groups[group].Awaited
	if d.Continuous {
		awaited = d.Groups[group].Direct // the others were passed before these
	}
	for i := range awaited.All() {
		at = latest(at, s.PassedAt(i))
	}
	return at
}

// Deadline returns when the group's time is over; zero if it has no time-out, or if its time does not run. On a node it counts from when
// this program first saw the group wait there.
func (s *State) Deadline(d Domain, group int) time.Time {
	g := d.Groups[group]
	if g.Timeout == 0 || !s.Reached.Has(group) || d.Refused || (d.OnNode && !d.Known) || (d.Suspended && !s.Released.Has(group)) {
		return time.Time{}
	}
	from := s.LostAt(group)
	switch {
	case !d.OnNode:
		from = latest(from, s.ReleasedAt(d, group))
	case from.IsZero():
		return time.Time{} // nobody saw it wait
	default:
		from = latest(from, d.Origin(group).Resumed)
	}
	return FullSecondAfter(from).Add(g.Timeout)
}

// TimedOut reports whether the group's time was over before it was satisfied, since it was released or lost.
func (s *State) TimedOut(d Domain, group int, now time.Time) bool {
	at := s.Deadline(d, group)
	if at.IsZero() || now.Before(at) || s.SatisfiedOnce(d, group) {
		return false
	}
	readiness := d.Readiness(group)
	return !readiness.Satisfied || // times of the API are whole seconds
		!readiness.Since.Before(at.Truncate(time.Second))
}

// SatisfiedOnce reports whether the group was satisfied since it was released, or lost.
func (s *State) SatisfiedOnce(d Domain, group int) bool {
	return s.Once.Has(group) || d.Readiness(group).NeedsNothing
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

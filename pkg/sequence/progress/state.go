package progress

import (
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/order"
)

// State is how far a sequence is in one domain. It follows from the facts, but for what they do not show any more: permanent
// passes that are not recorded, and what was released before a suspension.
type State struct {
	// Passed are the groups that those after them need not wait for any more.
	Passed order.GroupSet
	// Reached are the groups of which all that they wait for is passed.
	Reached order.GroupSet
	// Released are the groups whose pods may be scheduled: they are reached, and while the sequence is suspended they are in
	// ReleasedBefore.
	Released order.GroupSet
	// ReleasedBefore are the groups that had been released when the sequence was suspended.
	ReleasedBefore order.GroupSet
	// Ripe are the groups that would be passed now if status recorded it, see Domain.Records.
	Ripe order.GroupSet
	// TimedOutRipe are those of them that would be passed because their time is over.
	TimedOutRipe order.GroupSet
	// Once are the groups that were satisfied while they were released. Where a pass may be lost, a group that is lost is not among them
	// until it is satisfied again.
	Once order.GroupSet
	// Completed are the groups of requiredStatus Complete that were passed because they were complete: that their finished members are
	// deleted takes nothing back.
	Completed order.GroupSet
	// Reopened are the groups that were in Completed until a member came that was not complete. Status may not know yet.
	Reopened order.GroupSet

	lostAt   []time.Time // by group, see LostAt; nil while none was lost
	passedAt []time.Time // by group; nothing on a node, where it does not matter
}

// Current returns the groups that are reached and not passed.
func (s *State) Current() order.GroupSet { return s.Reached &^ s.Passed }

// PassedAt returns when a group was passed, as far as that is known; on a node it is not. Where passes are recorded, it is when that was.
func (s *State) PassedAt(group int) time.Time {
	if group < len(s.passedAt) {
		return s.passedAt[group]
	}
	return time.Time{}
}

// LostAt returns when a group was lost that was satisfied before, and on a node since when a group is seen to wait there: its time-out
// counts from then. It is zero for any other.
func (s *State) LostAt(group int) time.Time {
	if group < len(s.lostAt) {
		return s.lostAt[group]
	}
	return time.Time{}
}

// Lose notes that a group that was satisfied is not any more. A zero time means that it is again.
func (s *State) Lose(group int, at time.Time) {
	if at.IsZero() && group >= len(s.lostAt) {
		return
	}
	for len(s.lostAt) <= group {
		s.lostAt = append(s.lostAt, time.Time{})
	}
	s.lostAt[group] = at
}

// noteLost notes of a group that was satisfied, where a pass may be lost, that it is not any more.
func (s *State) noteLost(d Domain, group int, now time.Time) {
	if readiness := d.Readiness(group); !readiness.Satisfied && !readiness.Elsewhere && !readiness.NeedsNothing {
		s.Once &^= 1 << group
		s.Lose(group, now.Truncate(time.Second))
	}
}

// noteWaiting notes since when a group is seen to wait on a node. One that is held has all its time when it is released, and so has one of
// which nothing is there when something comes.
func (s *State) noteWaiting(d Domain, group int, now time.Time) {
	readiness := d.Readiness(group)
	switch {
	case d.Groups[group].Timeout == 0 || !s.Released.Has(group) || readiness.Elsewhere || readiness.NeedsNothing || !d.Groups[group].ContinueOnTimeout && d.IsAbsent(group):
		s.Lose(group, time.Time{})
	case !readiness.Satisfied && s.LostAt(group).IsZero():
		s.Lose(group, now.Truncate(time.Second))
	}
}

// Pass notes that a group was passed.
func (s *State) Pass(group int, at time.Time) {
	s.Passed.Add(group)
	for len(s.passedAt) <= group {
		s.passedAt = append(s.passedAt, time.Time{})
	}
	s.passedAt[group] = at
}

// Advance works out which groups are passed and released. What a group waits for comes before it in the list, so one look at
// each group in the order of the list is enough.
func (s *State) Advance(d Domain, now time.Time) {
	if d.PerNode && !d.OnNode {
		return // nothing is bound here
	}
	s.Ripe, s.TimedOutRipe = 0, 0
	if d.Continuous || d.Records() {
		s.Passed, s.passedAt = 0, s.passedAt[:0]
	}
	if !d.Refused {
		s.ReleasedBefore |= d.ReleasedAtFirst
	}
	s.Reached, s.Released = 0, 0
	for i, g := range d.Groups {
		if s.Passed.Contains(g.Awaited) {
			s.Reached.Add(i)
			s.Released = hold.Released(s.Reached, s.ReleasedBefore, d.Suspended, d.Refused)
		}
		if d.Continuous && s.Once.Has(i) {
			s.noteLost(d, i, now)
		}
		if d.OnNode {
			s.noteWaiting(d, i, now)
		}
		if !s.Passed.Has(i) {
			s.passIfDone(d, i, now)
		}
		if g.Required == v1alpha1.RequireComplete && !d.OnNode {
			s.noteCompleted(d, i)
		}
	}
	if !d.Suspended && !d.Refused {
		s.ReleasedBefore = s.Released
	}
}

// noteCompleted remembers that a group was passed because it was complete. So it is noted when the group is ripe: a Job may be deleted as
// soon as it is complete, before its pass is recorded. Where there is no pass, or it may be lost, a member that is not complete opens
// the group again. A permanent pass of which nobody knows more was one of a complete group, unless it may have been one without it.
func (s *State) noteCompleted(d Domain, group int) {
	readiness := d.Readiness(group)
	known := readiness.Satisfied || !d.Continuous && (s.Once.Has(group) || !d.Groups[group].ContinueOnTimeout)
	switch {
	case (s.Passed | s.Ripe).Has(group) && known:
		s.Completed.Add(group)
		s.Reopened &^= 1 << group
	case (d.Continuous || !s.Passed.Has(group)) && !readiness.Satisfied && readiness.Unfinished:
		s.Completed &^= 1 << group
		s.Reopened.Add(group)
	}
}

// passIfDone passes a group that is reached and done, or of which status records that it was passed. Where passes are recorded, one that is
// done is ripe, and so are those after it that would be passed by that.
func (s *State) passIfDone(d Domain, group int, now time.Time) {
	records := d.Records()
	if pass, recorded := d.RecordedPass(group); recorded && !d.OnNode && !d.Continuous {
		at := pass.At.Time
		if at.IsZero() {
			at = now.Truncate(time.Second) // the time is not recorded
		}
		if !pass.TimedOut {
			s.Once.Add(group)
		}
		s.Pass(group, latest(at, s.ReleasedAt(d, group))) // not before it was released
		return
	}
	if reached := s.Reached.Has(group); !reached && !(records && (s.Passed | s.Ripe).Contains(d.Groups[group].Awaited)) {
		return
	}
	readiness := d.Readiness(group)
	s.noteSatisfied(d, group, &readiness, now)
	at, timedOut, ok := s.isDone(d, group, &readiness, now)
	switch {
	case !ok:
	case d.OnNode:
		s.Passed.Add(group)
	case records:
		if s.Ripe.Add(group); timedOut {
			s.TimedOutRipe.Add(group)
		}
	default:
		if s.Pass(group, latest(at, s.ReleasedAt(d, group))); !d.Continuous && !timedOut {
			s.Once.Add(group) // as a record does
		}
	}
}

// IsDone reports whether a group that is reached is passed now, or would be if status recorded it.
func (s *State) IsDone(d Domain, group int, now time.Time) bool {
	readiness := d.Readiness(group)
	_, _, ok := s.isDone(d, group, &readiness, now)
	return ok
}

// isDone also returns when it was, and whether it was because its time is over.
func (s *State) isDone(d Domain, group int, readiness *Readiness, now time.Time) (at time.Time, timedOut, ok bool) {
	if d.OnNode && !d.Known {
		return time.Time{}, false, false // it may be gone, and it is not known which groups are for it
	}
	g := d.Groups[group]
	if readiness.Elsewhere {
		return time.Time{}, false, true
	}
	if readiness.Satisfied {
		at = WaitOver(g, readiness.Since)
		ok = g.Wait == 0 || !now.Before(at)
	}
	if g.ContinueOnTimeout && s.TimedOut(d, group, now) {
		if deadline := s.Deadline(d, group); !ok || deadline.Before(at) {
			return deadline, true, true
		}
	}
	return at, false, ok
}

// noteSatisfied remembers of a released group that it was satisfied: it has no time-out until it is lost. One that was too late, and
// that the groups after it no longer wait for, must have been satisfied for as long as they would have waited. One that is not for
// this node is not looked at.
func (s *State) noteSatisfied(d Domain, group int, readiness *Readiness, now time.Time) {
	if !readiness.Satisfied || readiness.Elsewhere || readiness.NeedsNothing || (d.OnNode && !d.Known) || !s.Reached.Has(group) || (d.Suspended && !s.Released.Has(group)) {
		return
	}
	g := d.Groups[group]
	if !s.TimedOut(d, group, now) || g.Wait == 0 || !now.Before(WaitOver(g, readiness.Since)) {
		s.Once.Add(group)
		s.Lose(group, time.Time{})
	}
}

// Undecided returns the groups for which it matters now whether they are satisfied. Where a pass may be lost, these are also
// the passed ones. On a node they are also those to come, for which others may have nothing to wait.
func (s *State) Undecided(d Domain) order.GroupSet {
	switch {
	case d.PerNode && (!d.OnNode || !d.Known):
		return 0 // it does not go on
	case d.PerNode:
		return order.Before(len(d.Groups))
	case d.Continuous:
		return s.Reached
	}
	return s.Current()
}

// NextWake returns when time alone will pass a group, or end the time that it has; zero for never.
func (s *State) NextWake(d Domain, now time.Time) time.Time {
	wake := time.Time{}
	soonest := func(at time.Time) {
		if now.Before(at) && (wake.IsZero() || at.Before(wake)) {
			wake = at
		}
	}
	for i := range s.Undecided(d).All() {
		if g := d.Groups[i]; g.Wait > 0 {
			if readiness := d.Readiness(i); readiness.Satisfied {
				soonest(WaitOver(g, readiness.Since))
			}
		}
	}
	for i := range s.Current().All() {
		if at := s.Deadline(d, i); now.Before(at) && !s.SatisfiedOnce(d, i) {
			soonest(at)
		}
	}
	return wake
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
		// What happened before this program watched is not recorded.
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
		return time.Time{} // it was not seen to wait
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

package sequence

import (
	"time"

	"example.com/podsequence/pkg/sequence/progress"
	"example.com/podsequence/pkg/sequence/spec"
)

// markCompleted marks for re-evaluation the groups that are complete now and were not before, as far as they are not satisfied. It reports
// whether there are any.
func (d *domain) markCompleted(before spec.GroupSet) (any bool) {
	for i := range (d.Completed &^ before).All() {
		if !d.looksSatisfied(i) {
			d.groupState(i)
			any = true
		}
	}
	return any
}

// reset forgets what the domain came to before its node was known: it was another node, or the order of events.
func (d *domain) reset() {
	d.State, d.evaluated = progress.State{Reached: d.Reached, Released: d.Released}, false
	for _, state := range d.groupStates {
		state.satisfied, state.unsatisfiedBefore = false, false
		state.since, state.turned = time.Time{}, time.Time{}
	}
}

// inheritProgress takes over what the domain of an earlier spec of the same object came to, as far as groups are defined the same.
func (d *domain) inheritProgress(old *domain, same spec.Same) {
	s := d.sequence
	remembers := s.PerNode || s.DryRunRequested && old.sequence.DryRunRequested // elsewhere status does
	if !s.Continuous && !old.sequence.Continuous && remembers {
		for i := range (same.Set(old.Passed) &^ d.Passed).All() {
			d.Pass(i, old.PassedAt(same[i]))
		}
	}
	for i, earlier := range same {
		if earlier < 0 {
			continue
		}
		if before := old.find(earlier); before != nil && before.satisfied {
			state := d.groupState(i)
			state.satisfied, state.since = true, before.since
		} else if state := d.find(i); state != nil && old.evaluated {
			state.unsatisfiedBefore = !old.looksSatisfied(earlier)
		}
	}
	d.Once |= same.Set(old.Once)
	for i, earlier := range same {
		switch {
		case earlier < 0 || old.LostAt(earlier).IsZero():
		case s.Continuous:
			d.Lose(i, old.LostAt(earlier))
		default:
			d.Once.Add(i) // it was satisfied since it was released, which counts from now on
		}
	}
	d.Completed |= same.Set(old.Completed)
	d.Reopened |= same.Set(old.Reopened)
	d.ReleasedBefore |= same.Set(old.ReleasedBefore) // for a suspension, by this edit or by the next one in the same step
}

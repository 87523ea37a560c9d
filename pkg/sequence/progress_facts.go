package sequence

import (
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/progress"
)

// progressFacts are what the rules of progress look at.
func (d *domain) progressFacts() progress.Domain {
	s := d.sequence
	return progress.Domain{
		Sequence: s.Sequence, Facts: d, Refused: s.refused(), OnNode: d.isNode(), Known: d.node != nil, ReleasedAtFirst: s.releasedAtFirst(),
	}
}

// Readiness returns how far a group is by itself.
func (d *domain) Readiness(i int) progress.Readiness {
	return progress.Readiness{
		Elsewhere: !d.applies(d.sequence.groups[i]), NeedsNothing: d.needsNothing(i), Satisfied: d.looksSatisfied(i), Since: d.since(i),
		Unfinished: d.Completed.Has(i) && d.isUnfinished(i),
	}
}

// IsAbsent reports whether nothing of a group is on the node or due there.
func (d *domain) IsAbsent(i int) bool {
	facts := d.facts(i)
	return facts.Need().Expected == 0 && !d.sequence.groups[i].OnEveryNode
}

// isUnfinished reports whether something of a group is there that has not completed, or failed and is gone.
func (d *domain) isUnfinished(i int) bool {
	g, state := d.sequence.groups[i], d.peek(i)
	if state.demands.Short > 0 || state.demands.Unobserved > 0 || len(d.sequence.failuresIn(i)) > 0 {
		return true
	}
	if g.Selector != nil && state.sums.Unseen == 0 {
		return state.sums.Ready < state.sums.Expected
	}
	for _, counted := range []map[*pod]contribution{state.members, state.named} { // few by name, and of unknown owners only for a moment
		for p, c := range counted {
			if (g.Selector == nil || c.Expected) && !p.Reached(g.requirement()).Done {
				return true
			}
		}
	}
	return false
}

// Recorded returns what status says of a group.
func (d *domain) Recorded(i int) v1alpha1.GroupStatus { return d.sequence.record(i) }

// RecordedPass returns the pass of a group that status records.
func (d *domain) RecordedPass(i int) (pass v1alpha1.GroupPass, recorded bool) {
	return d.sequence.PassIn(&d.sequence.object.Status, i)
}

// Origin returns what says since when a group can have been released.
func (d *domain) Origin(i int) progress.Origin {
	s, g := d.sequence, d.sequence.groups[i]
	return progress.Origin{Created: s.created, Edited: g.editedAt, Resumed: latest(s.resumedSeen, s.resumedAt()), Watched: d.watchedSince(i)}
}

// deadline, timedOut and releasedAt answer for a group as progress does.
func (d *domain) deadline(i int) time.Time { return d.Deadline(d.progressFacts(), i) }

func (d *domain) timedOut(i int, now time.Time) bool {
	return d.sequence.groups[i].Timeout > 0 && d.TimedOut(d.progressFacts(), i, now)
}

func (d *domain) releasedAt(i int) time.Time { return d.ReleasedAt(d.progressFacts(), i) }

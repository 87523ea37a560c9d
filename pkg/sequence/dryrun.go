package sequence

import (
	"slices"
	"time"

	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/report"
)

// dryRun is what a sequence would have held in its dry run until it released the groups of the pods.
type dryRun struct {
	total   int
	longest time.Duration
}

// A sequence with spec.dryRun holds nothing, but it has members, and passes its groups as any other. While it is suspended it holds its
// pods as if it had no dry run. Which pods it would hold is worked out on demand: the members of groups that are not released, if
// they have no node, or got it since the group was closed to them. When a group is released, they are added to the total. Nothing is
// decided by that.

// noteReleases adds the pods that a domain would have held until now to those of its dry run.
func noteReleases(d *domain, before publishedDomain) {
	dry := d.sequence.dry
	if dry == nil || before.unpublished {
		return
	}
	held := report.DryRun{Longest: dry.longest}
	for i := range (d.Released &^ before.released).All() {
		countHeld(&held, d, i, before.lost.Time())
	}
	dry.total, dry.longest = dry.total+len(held.Pods), held.Longest
}

// report is what status says of the dry run of a sequence.
func (run *dryRun) report(s *sequence) *report.DryRun {
	r := &report.DryRun{Longest: run.longest}
	for _, d := range s.domains {
		for _, state := range d.groupStates {
			if hasNone := s.PerNode && !d.isNode(); hasNone || !d.Released.Has(state.group) {
				countHeld(r, d, state.group, d.lastLost())
			}
		}
	}
	slices.Sort(r.Pods)
	r.Total = run.total + len(r.Pods)
	return r
}

// countHeld adds the members of a group to a report that the sequence holds while the group is not released, or would hold. lost is when a
// group of the domain was last lost.
func countHeld(r *report.DryRun, d *domain, group int, lost time.Time) {
	s := d.sequence
	closed := latest(latest(s.created, s.groups[group].editedAt), lost)
	for p := range d.peek(group).members {
		if wouldHold(p, membership{s, group}, closed) {
			r.Pods = append(r.Pods, s.nameOf(p))
			r.Longest = max(r.Longest, s.knowledge.now.Sub(latest(p.CreatedAt.Time(), closed)))
		}
	}
}

// wouldHold reports whether a sequence would hold a pod but for its dry run, as long as its group is not released. closed is since when it
// is not. Of a pod that has a node it is unknown whether it was pinned to it: those of DaemonSets are.
func wouldHold(p *pod, m membership, closed time.Time) bool {
	k := m.sequence.knowledge
	governed := p.GateLifted || k.settings.governs(p, m.sequence)
	if !governed || p.Terminating || p.Bound() && p.BoundAt.Time().Before(closed.Truncate(time.Second)) {
		return false
	}
	facts := k.settings.holdFacts(p, m)
	facts.DryRun, facts.Placed = false, false
	switch rule := facts.Rule(); {
	case rule != hold.ByNode:
		return rule != hold.Free
	case p.Bound():
		owner := k.workloads.ownerOf(p).workload
		return owner != nil && owner.Kind == inventory.KindDaemonSet
	}
	return p.Pin().IsOne() && !k.unplaced.openOnPin(p.Pin(), m)
}

package sequence

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/placement"
	"example.com/podsequence/pkg/sequence/report"
)

// A sequence with spec.dryRun holds nothing and leaves no proof, but it has members, and passes its groups as any other. Which pods
// it would hold is noted when they are seen without a node. They get one at once, so a note lasts beyond that: until the sequence
// would have released the pod, or the pod is gone.
//
// Notes are for people: nothing is decided by them. Status keeps the sums of them over restarts, and the names of the first pods.

// dryRun is what a sequence would have held since its dry run began.
type dryRun struct {
	held map[*pod]time.Time // since when
	// recorded are pods that status says would be held, by the names that it gives them.
	recorded map[string]struct{}
	// recordedAt is when status was written: a pod that is older was counted then if it was held.
	recordedAt time.Time
	total      int
	longest    time.Duration // of those that are held no more
}

// newDryRun returns what status says of a dry run; nil if the sequence has none.
func newDryRun(s *sequence) *dryRun {
	if !s.DryRun {
		return nil
	}
	d := &dryRun{held: map[*pod]time.Time{}, recorded: map[string]struct{}{}}
	c := meta.FindStatusCondition(s.object.Status.Conditions, v1alpha1.ConditionDryRun)
	if said := s.object.Status.DryRun; said != nil && c != nil && c.Status == metav1.ConditionTrue {
		d.total, d.longest, d.recordedAt = int(said.HeldTotal), time.Duration(said.LongestSeconds)*time.Second, s.recordedAt()
		for _, name := range said.Pods {
			d.recorded[name] = struct{}{}
		}
	}
	return d
}

// noteDryRuns notes what sequences with a dry run would do with a pod that has no node, or that got one before it was seen.
func (k *knowledge) noteDryRuns(p *pod) {
	for _, m := range p.memberships {
		if dry := m.sequence.dry; dry != nil {
			k.noteDryRun(dry, p, m)
		}
	}
}

func (k *knowledge) noteDryRun(dry *dryRun, p *pod, m membership) {
	_, noted := dry.held[p]
	ours := k.schedulerNames.Has(p.SchedulerName)
	switch {
	case p.Terminating:
	case noted && (p.Bound() || (!ours && !p.HasGate(m.sequence.Gate))):
		return // it went because of the dry run
	case p.Bound() && (!ours || m.sequence.Continuous || p.CreatedAt.Time().Before(m.sequence.created)):
		return // nobody says that it would have been held: its group may have been released then
	}
	switch would := !p.Terminating && k.wouldHold(p, m); {
	case would && !noted:
		since := latest(p.CreatedAt.Time(), m.sequence.created)
		if dry.held[p] = since; since.After(dry.recordedAt) {
			dry.total++
		}
	case !would && noted:
		dry.end(p, k.now)
	}
}

// recallDryRun notes again the pods that status says would be held.
func (s *sequence) recallDryRun(p *pod) {
	if s.dry == nil || len(s.dry.recorded) == 0 {
		return
	}
	if _, recorded := s.dry.recorded[s.nameOf(p)]; recorded {
		delete(s.dry.recorded, s.nameOf(p))
		s.dry.held[p] = latest(p.CreatedAt.Time(), s.created)
	}
}

// end notes that a pod would be held no more.
func (d *dryRun) end(p *pod, now time.Time) {
	if since, noted := d.held[p]; noted {
		d.longest = max(d.longest, now.Sub(since))
		delete(d.held, p)
	}
}

// endDryRuns is end for a pod that is gone.
func (k *knowledge) endDryRuns(p *pod) {
	for _, m := range p.memberships {
		if m.sequence.dry != nil {
			m.sequence.dry.end(p, k.now)
		}
	}
}

// endDryRun notes that a domain would have released groups that it had not before.
func (k *knowledge) endDryRun(d *domain, before publishedDomain) {
	dry := d.sequence.dry
	if dry == nil || before.Released == d.Released {
		return
	}
	for _, state := range d.groupStates {
		if d.releases(state.group) && !before.Released.Has(state.group) {
			for p := range state.members {
				dry.end(p, k.now)
			}
		}
	}
}

// wouldHold reports whether a sequence would hold a pod without a node but for its dry run.
func (k *knowledge) wouldHold(p *pod, m membership) bool {
	s := m.sequence
	ours := k.schedulerNames.Has(p.SchedulerName)
	switch {
	case !ours && !p.HasGate(s.Gate), s.refused():
		return false
	case !s.PerNode:
		return !s.domains[""].releases(m.group)
	case !ours:
		return true // such a pod stays gated
	case m.waitsForNothing():
		return false
	}
	if pin := p.Wants().Pin(); pin != nil {
		return !k.openOnPin(*pin, m)
	}
	suits, onTheWay := placement.NewRequirement(p.Wants()), false
	for name, n := range k.nodes {
		if !suits.Suits(&n.Node) {
			continue
		}
		switch s.stateOn(name, m.group) {
		case placement.Open:
			return false
		case placement.OnTheWay:
			onTheWay = true
		}
	}
	return onTheWay
}

// report is what status says of the dry run.
func (d *dryRun) report(s *sequence, now time.Time) *report.DryRun {
	r := &report.DryRun{Total: d.total, Longest: d.longest}
	for p, since := range d.held {
		if !p.isMemberOf(s) {
			continue
		}
		r.Longest = max(r.Longest, now.Sub(since))
		r.Pods = append(r.Pods, s.nameOf(p))
	}
	slices.Sort(r.Pods)
	r.Total = max(r.Total, len(r.Pods))
	return r
}

package sequence

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/progress"
	"example.com/podsequence/pkg/sequence/report"
)

// A sequence with spec.dryRun holds nothing and leaves no proof, but it has members, and passes its groups as any other. While it is
// suspended it holds its pods as if it had no dry run. Which pods it would hold is noted when they are seen without a node. They get
// one at once, so a note lasts beyond that: until the sequence would have released the pod, or the pod is gone or belongs to the
// sequence no more. A pod that is first seen with a node is noted if it would have been held before it got that.
//
// Notes are for people: nothing is decided by them. Status keeps the sums of them over restarts, and the names of the first pods.

// newDryRun returns what status says of a dry run; nil if the sequence has none.
func newDryRun(s *sequence) *dryRun {
	if !s.DryRunRequested {
		return nil
	}
	d := &dryRun{held: map[*pod]time.Time{}, counted: map[*pod]struct{}{}, recorded: map[string]struct{}{}}
	c := meta.FindStatusCondition(s.object.Status.Conditions, v1alpha1.ConditionDryRun)
	if said := s.object.Status.DryRun; said != nil && c != nil && c.Status == metav1.ConditionTrue {
		d.total, d.longest, d.recordedAt = int(said.HeldTotal), time.Duration(said.LongestSeconds)*time.Second, s.recordedAt()
		for _, name := range said.Pods {
			d.recorded[name] = struct{}{}
		}
	}
	return d
}

// inheritDryRun goes on with the dry run of the sequence before it was edited.
func (s *sequence) inheritDryRun(old *sequence, now time.Time) {
	if old == nil || old.UID != s.UID || old.dry == nil || s.dry == nil {
		return
	}
	s.dry = old.dry
	for p := range s.dry.counted {
		if !p.isMemberOf(s) {
			s.dry.forget(p, now)
		}
	}
}

// noteDryRuns notes what sequences with a dry run would do with a pod.
func (k *knowledge) noteDryRuns(p *pod) {
	for _, m := range p.memberships() {
		if dry := m.sequence.dry; dry != nil {
			k.noteDryRun(dry, p, m)
		}
	}
}

func (k *knowledge) noteDryRun(dry *dryRun, p *pod, m membership) {
	_, noted := dry.held[p]
	switch {
	case p.Terminating, noted && m.sequence.domainOf(p).releases(m.group):
		dry.end(p, k.now)
	case p.Bound(), noted && !k.settings.governs(p, m.sequence): // it went because of the dry run, or is noted by noteNewlySeen
	case !k.wouldHold(p, m):
		dry.end(p, k.now)
	case !noted && !m.waitsForAnswer(k.now):
		dry.note(p, m.sequence.created, k.now)
	}
}

// waitsForAnswer reports whether the pods of the group wait for nothing but answers, whether what looks ready is. That takes a
// moment, and then they wait for nothing, or the domain is looked at again.
func (m membership) waitsForAnswer(now time.Time) bool {
	d := m.sequence.nodeless
	if m.sequence.PerNode || !d.unconfirmed {
		return false
	}
	facts := d.progressFacts()
	facts.Facts = trusting{facts.Facts}
	answered := d.State.Clone()
	answered.Advance(facts, now)
	return answered.Released.Has(m.group)
}

// trusting are facts as they will be if all that looks satisfied is.
type trusting struct{ progress.Facts }

// Readiness implements progress.Facts.
func (t trusting) Readiness(group int) progress.Readiness {
	r := t.Facts.Readiness(group)
	r.Confirmed = r.Satisfied
	return r
}

// noteNewlySeen notes which sequences with a dry run would have held a pod before it got the node with which it is first seen. Nobody
// says that for pods of other schedulers, and under Continuous: the group of the pod may have been released then.
func (k *knowledge) noteNewlySeen(p podInSequence) {
	for _, m := range p.memberships() {
		s := m.sequence
		if s.dry == nil || (p.in != nil && p.in != s) || !p.Bound() || p.Terminating || s.Continuous || !k.settings.isOurs(p.pod) ||
			p.CreatedAt.Time().Before(s.created) || s.domainOf(p.pod).releases(m.group) || m.waitsForAnswer(k.now) {
			continue
		}
		if _, noted := s.dry.held[p.pod]; !noted {
			s.dry.note(p.pod, s.created, k.now)
		}
	}
}

// restoreDryRun notes again the pods that status says would be held.
func (s *sequence) restoreDryRun(p *pod) {
	if s.dry == nil || len(s.dry.recorded) == 0 {
		return
	}
	if _, recorded := s.dry.recorded[s.nameOf(p)]; recorded {
		s.dry.note(p, s.created, time.Time{})
	}
}

// note notes that a pod would be held: since it was created or there was the sequence, or since now if it was noted before.
func (d *dryRun) note(p *pod, created, now time.Time) {
	since := latest(p.CreatedAt.Time(), created)
	if _, again := d.counted[p]; again {
		since = now
	} else if d.counted[p] = struct{}{}; since.After(d.recordedAt) {
		d.total++
	}
	d.held[p] = since
}

// end notes that a pod would be held no more.
func (d *dryRun) end(p *pod, now time.Time) {
	if since, noted := d.held[p]; noted {
		d.longest = max(d.longest, now.Sub(since))
		delete(d.held, p)
	}
}

// forget notes that a pod is gone, or belongs to the sequence no more.
func (d *dryRun) forget(p *pod, now time.Time) {
	d.end(p, now)
	delete(d.counted, p)
}

// endDryRuns notes that a pod is gone, or, if it is not, to which sequences it belongs no more.
func (p *pod) endDryRuns(before []membership, gone bool, now time.Time) {
	for _, m := range before {
		if dry := m.sequence.dry; dry != nil && (gone || !p.isMemberOf(m.sequence)) {
			dry.forget(p, now)
		}
	}
}

// noteReleases notes that a domain would have released groups that it had not before, or would hold them again.
func (k *knowledge) noteReleases(d *domain, before publishedDomain) {
	dry, answered := d.sequence.dry, before.unconfirmed && !d.unconfirmed
	if dry == nil || (before.Released == d.Released && !answered) {
		return
	}
	for _, state := range d.groupStates {
		switch is, was := d.releases(state.group), before.Released.Has(state.group); {
		case is && !was:
			for p := range state.members {
				dry.end(p, k.now)
			}
		case !is && (was || answered):
			for p := range state.members {
				k.noteDryRuns(p)
			}
		}
	}
}

// wouldHold reports whether a sequence would hold a pod without a node but for its dry run.
func (k *knowledge) wouldHold(p *pod, m membership) bool {
	if !k.settings.governs(p, m.sequence) {
		return false
	}
	facts := k.holdFacts(p, m)
	facts.DryRun = false
	rule := facts.Rule()
	if rule == hold.ByNode {
		return p.Pin().IsOne() && !k.unplaced.openOnPin(p.Pin(), m)
	}
	return rule != hold.Free
}

// report is what status says of the dry run.
func (d *dryRun) report(s *sequence, now time.Time) *report.DryRun {
	r := &report.DryRun{Total: d.total, Longest: d.longest}
	for p, since := range d.held {
		r.Longest = max(r.Longest, now.Sub(since))
		r.Pods = append(r.Pods, s.nameOf(p))
	}
	slices.Sort(r.Pods)
	r.Total = max(r.Total, len(r.Pods))
	return r
}

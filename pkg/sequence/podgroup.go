package sequence

import (
	"maps"
	"slices"

	"example.com/podsequence/pkg/podgroups"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// podGroup is a PodGroup as far as pods or the API server tell of it.
type podGroup struct {
	reference podgroups.Reference
	minimum   int // pods that it asks for; 0 if it does not, or is not known
	pods      map[*pod]struct{}
}

// podGroups are all PodGroups that have pods in a sequence, or ask for a number of pods.
type podGroups map[podgroups.Reference]*podGroup

// apply enters how many pods a PodGroup asks for.
func (all podGroups) apply(reference podgroups.Reference, minimum int, tx *transaction) {
	g := all.ensure(reference)
	if g.minimum != minimum {
		g.minimum = minimum
		for p := range g.pods {
			for _, m := range p.memberships() {
				tx.markGroupDirty(m.sequence.domainOf(p), m.group)
			}
		}
	}
	all.forgetIfEmpty(g)
}

func (all podGroups) ensure(reference podgroups.Reference) *podGroup {
	g := all[reference]
	if g == nil {
		g = &podGroup{reference: reference, pods: map[*pod]struct{}{}}
		all[reference] = g
	}
	return g
}

func (all podGroups) forgetIfEmpty(g *podGroup) {
	if len(g.pods) == 0 && g.minimum == 0 {
		delete(all, g.reference)
	}
}

// link and unlink make a pod that belongs to some sequence known to its PodGroups, and unknown again.
func (all podGroups) link(p *pod) {
	for _, reference := range p.PodGroups() {
		all.ensure(reference).pods[p] = struct{}{}
	}
}

func (all podGroups) unlink(p *pod) {
	for _, reference := range p.PodGroups() {
		g := all.ensure(reference)
		delete(g.pods, p)
		all.forgetIfEmpty(g)
	}
}

// countPodGroups counts a member for its PodGroups in its group. ready reports that it counts as ready there.
func (m membership) countPodGroups(p *pod, ready bool, sign int) {
	for _, reference := range p.PodGroups() {
		m.sequence.countPodGroup(reference, m.group, sign)
		if m.sequence.PerNode {
			continue // what a PodGroup asks for it asks for in the cluster, not on each node
		}
		state := m.sequence.domainOf(p).groupState(m.group)
		if state.podGroups == nil {
			state.podGroups = readiness.PodGroups{}
		}
		state.podGroups.Add(reference, ready, sign)
	}
}

// notePodGroups counts a member as ready for its PodGroups, or not as ready any more. Which they are does not change while it is a member.
func (s *groupState) notePodGroups(p *pod, ready bool) {
	if s.podGroups == nil {
		return // nobody asks for them on nodes
	}
	for _, reference := range p.PodGroups() {
		s.podGroups.Add(reference, !ready, -1)
		s.podGroups.Add(reference, ready, +1)
	}
}

// countPodGroup counts in which groups a PodGroup has pods.
func (s *sequence) countPodGroup(reference podgroups.Reference, group, sign int) {
	if s.podGroups == nil {
		s.podGroups = map[podgroups.Reference]map[int]int{}
	}
	if s.podGroups[reference] == nil {
		s.podGroups[reference] = map[int]int{}
	}
	groups := s.podGroups[reference]
	if groups[group] += sign; groups[group] == 0 {
		delete(groups, group)
	}
	if len(groups) == 0 {
		delete(s.podGroups, reference)
	}
}

// completedPodGroup reports whether a Job of the PodGroup is complete: then nobody asks how many of its pods are left.
func (g *group) completedPodGroup(reference podgroups.Reference) bool {
	for demand := range g.demands {
		if demand.workload.Complete && slices.Contains(demand.workload.PodGroups, reference) {
			return true
		}
	}
	return false
}

// minimum is how many pods a PodGroup asks for; 0 if that is not known.
func (s *sequence) minimum(reference podgroups.Reference) int {
	if g := s.podGroupsKnown[reference]; g != nil {
		return g.minimum
	}
	return 0
}

// splitPodGroups reports a PodGroup that has pods in several groups and cannot be scheduled in order: that of Kubernetes schedules
// all its pods together, that of Coscheduling as many as it asks for, and those of the later groups may not be scheduled
// before those of the earlier are ready.
func (s *sequence) splitPodGroups() (spec.Problem, bool) {
	var split []string
	for reference, groups := range s.podGroups {
		first := slices.Min(slices.Collect(maps.Keys(groups)))
		if len(groups) > 1 && (reference.Kind == podgroups.Native || groups[first] < s.minimum(reference)) {
			split = append(split, "PodGroup "+reference.Name)
		}
	}
	if len(split) == 0 {
		return spec.Problem{}, false
	}
	return report.SplitPodGroups(split), true
}

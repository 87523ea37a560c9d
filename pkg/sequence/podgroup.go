package sequence

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/podgroups"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// apply enters how many pods a PodGroup asks for, and what it is part of.
func (all podGroups) apply(reference podgroups.Reference, minimum int, composite string, tx *transaction) {
	g := all.ensure(reference)
	if g.minimum != minimum || g.composite != composite {
		g.minimum, g.composite = minimum, composite
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
	if len(g.pods) == 0 && g.minimum == 0 && g.composite == "" {
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

// splitPodGroups reports a PodGroup that has pods in several groups and cannot be scheduled in order: that of Kubernetes schedules
// all its pods together, and so does a CompositePodGroup with those of its PodGroups. That of Coscheduling schedules as many as it asks for,
// and those of the later groups may not be scheduled before those of the earlier are ready. If the first group has enough of them, a later
// one that has fewer is never satisfied.
func (s *sequence) splitPodGroups() (spec.Problem, bool) {
	var split, short []string
	for reference, groups := range s.podGroups {
		if len(groups) < 2 {
			continue
		}
		first := slices.Min(slices.Collect(maps.Keys(groups)))
		switch minimum := s.minimum(reference); {
		case reference.Kind == podgroups.Native || groups[first] < minimum:
			split = append(split, "PodGroup "+reference.Name)
		case slices.Min(slices.Collect(maps.Values(groups))) < minimum:
			short = append(short, "PodGroup "+reference.Name)
		}
	}
	if len(split) == 0 {
		split = s.splitComposites()
	}
	switch {
	case len(split) > 0:
		return report.SplitPodGroups(split), true
	case len(short) > 0:
		return report.ShortPodGroups(short), true
	}
	return spec.Problem{}, false
}

// splitComposites names the CompositePodGroups whose PodGroups have pods in several groups.
func (s *sequence) splitComposites() []string {
	groups := map[types.NamespacedName]map[int]struct{}{}
	var split []string
	for reference, counts := range s.podGroups {
		known := s.podGroupsKnown[reference]
		if known == nil || known.composite == "" {
			continue
		}
		composite := types.NamespacedName{Namespace: reference.Namespace, Name: known.composite}
		for group := range counts {
			before := len(groups[composite])
			insert(groups, composite, group)
			if before == 1 && len(groups[composite]) == 2 {
				split = append(split, "CompositePodGroup "+composite.Name)
			}
		}
	}
	return split
}

package sequence

import (
	"maps"
	"slices"

	"example.com/podsequence/pkg/podgroups"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// gang is a PodGroup as far as pods or the API server tell of it.
type gang struct {
	reference podgroups.Reference
	minimum   int // pods that it asks for; 0 if it does not, or is not known
	pods      map[*pod]struct{}
}

// ApplyPodGroup tells the engine how many pods a PodGroup asks for at least; 0 if for none in particular, or if it is gone.
func (e *Engine) ApplyPodGroup(reference podgroups.Reference, minimum int) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()

	b := e.at(e.newest) // when it changed is not told
	g := e.gangFor(reference)
	if g.minimum != minimum {
		g.minimum = minimum
		for p := range g.pods {
			for _, m := range p.memberships {
				b.touchGroup(m.sequence.laneOf(p), m.group)
			}
		}
	}
	e.forgetGang(g)
	return e.settle(b)
}

func (e *Engine) gangFor(reference podgroups.Reference) *gang {
	g := e.gangs[reference]
	if g == nil {
		g = &gang{reference: reference, pods: map[*pod]struct{}{}}
		e.gangs[reference] = g
	}
	return g
}

func (e *Engine) forgetGang(g *gang) {
	if len(g.pods) == 0 && g.minimum == 0 {
		delete(e.gangs, g.reference)
	}
}

// joinGangs and leaveGangs make a pod that belongs to some sequence known to its gangs.
func (e *Engine) joinGangs(p *pod) {
	for _, reference := range p.PodGroups {
		e.gangFor(reference).pods[p] = struct{}{}
	}
}

func (e *Engine) leaveGangs(p *pod) {
	for _, reference := range p.PodGroups {
		g := e.gangFor(reference)
		delete(g.pods, p)
		e.forgetGang(g)
	}
}

// countGangs counts the pod for its gangs in its group.
func (e *Engine) countGangs(p *pod, m membership, sign int) {
	for _, reference := range p.PodGroups {
		m.sequence.countGang(reference, m.group, sign)
		if m.sequence.PerNode {
			continue // what a gang asks for it asks for in the cluster, not on each node
		}
		t := m.sequence.laneOf(p).tally(m.group)
		if t.podGroups == nil {
			t.podGroups = readiness.PodGroups{}
		}
		t.podGroups.Add(reference, p.Done(m.sequence.groups[m.group].Required), sign)
	}
}

// countGang counts in which groups a gang has pods.
func (s *sequence) countGang(reference podgroups.Reference, group, sign int) {
	if s.gangs == nil {
		s.gangs = map[podgroups.Reference]map[int]int{}
	}
	if s.gangs[reference] == nil {
		s.gangs[reference] = map[int]int{}
	}
	groups := s.gangs[reference]
	if groups[group] += sign; groups[group] == 0 {
		delete(groups, group)
	}
	if len(groups) == 0 {
		delete(s.gangs, reference)
	}
}

// completedGang reports whether a Job of the PodGroup is complete: then nobody asks how many of its pods are left.
func (g *group) completedGang(reference podgroups.Reference) bool {
	for share := range g.shares {
		if share.workload.Complete && slices.Contains(share.workload.PodGroups, reference) {
			return true
		}
	}
	return false
}

// minimum is how many pods a PodGroup asks for; 0 if that is not known.
func (s *sequence) minimum(reference podgroups.Reference) int {
	if g := s.gangsKnown[reference]; g != nil {
		return g.minimum
	}
	return 0
}

// splitGang reports a PodGroup that has pods in several groups and cannot be scheduled in order: that of Kubernetes schedules
// all its pods together, that of Coscheduling as many as it asks for, and those of the later groups may not be scheduled
// before those of the earlier are ready.
func (s *sequence) splitGang() (spec.Problem, bool) {
	var split []string
	for reference, groups := range s.gangs {
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

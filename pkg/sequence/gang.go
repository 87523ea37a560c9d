package sequence

import (
	"fmt"
	"slices"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/podgroups"
)

// gang is a PodGroup as far as pods or the API server tell of it.
type gang struct {
	reference podgroups.Reference
	minimum   int // pods that it asks for; 0 if it does not, or is not known
	pods      map[*pod]struct{}
}

// gangCount counts the pods of one gang in one group.
type gangCount struct{ members, done int }

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
	for _, reference := range p.gangs {
		e.gangFor(reference).pods[p] = struct{}{}
	}
}

func (e *Engine) leaveGangs(p *pod) {
	for _, reference := range p.gangs {
		g := e.gangFor(reference)
		delete(g.pods, p)
		e.forgetGang(g)
	}
}

// countGangs counts the pod for its gangs in its group.
func (e *Engine) countGangs(p *pod, m membership, sign int) {
	for _, reference := range p.gangs {
		m.sequence.countGang(reference, m.group, sign)
		if m.sequence.perNode {
			continue // what a gang asks for it asks for in the cluster, not on each node
		}
		t := m.sequence.laneOf(p).tally(m.group)
		if t.gangs == nil {
			t.gangs = map[*gang]gangCount{}
		}
		g := e.gangFor(reference)
		count := t.gangs[g]
		count.members += sign
		if p.done(m.sequence.groups[m.group].required) {
			count.done += sign
		}
		if t.gangs[g] = count; count.members == 0 {
			delete(t.gangs, g)
		}
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

// gangNeed is how many pods the gangs in the group ask for, and whether one of them has too few that are done.
func (t *tally) gangNeed() (minimum int, short bool) {
	for g, count := range t.gangs {
		minimum += g.minimum
		short = short || count.done < g.minimum
	}
	return minimum, short
}

// splitGang reports a PodGroup of Kubernetes that has pods in several groups: it schedules them together, and those of
// the later group may not be scheduled before those of the earlier are ready.
func (s *sequence) splitGang() (Problem, bool) {
	var split []string
	for reference, groups := range s.gangs {
		if reference.Kind == podgroups.Native && len(groups) > 1 {
			split = append(split, "PodGroup "+reference.Name)
		}
	}
	if len(split) == 0 {
		return Problem{}, false
	}
	slices.Sort(split)
	return Problem{v1alpha1.ReasonGangSplit, fmt.Sprintf(
		"%s has pods in several groups: it schedules all of them together, so each waits for the other; put them into one group", list(split))}, true
}

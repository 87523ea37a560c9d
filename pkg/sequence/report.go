package sequence

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Report is how far a sequence has come: what its status is written from.
type Report struct {
	UID        types.UID
	Generation int64
	// Object is the PodSequence that this reports on, as the engine last saw it: read only.
	Object *v1alpha1.PodSequence
	// Current is the 0-based index of the first group not passed, or the number of groups.
	Current  int
	Groups   []GroupReport
	Problems []Problem
}

// GroupReport is the part of a Report on one group.
type GroupReport struct {
	Title           string
	Hash            string
	Expected, Ready int
	Satisfied       bool
	// LastReady is when the last of its pods turned ready, by the API server's clock; zero if that is not known.
	LastReady time.Time
	// Members and ReadyMembers are names, sorted.
	Members, ReadyMembers []string
}

// Report describes the sequence with this key, if there is one.
func (e *Engine) Report(key types.NamespacedName) (Report, bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()

	s := e.sequences[key]
	if s == nil {
		return Report{}, false
	}
	report := Report{
		UID: s.uid, Generation: s.generation, Object: s.object, Current: s.current,
		Groups: make([]GroupReport, len(s.groups)), Problems: slices.Clone(s.problems),
	}
	for i, g := range s.groups {
		report.Groups[i] = g.report()
	}
	if p, ok := e.ungoverned(s); ok {
		// First, so that it gives the reason: of all problems it alone means that pods start out of order.
		report.Problems = slices.Insert(report.Problems, 0, p)
	}
	return report, true
}

func (g *group) report() GroupReport {
	r := GroupReport{
		Title: g.title, Hash: g.hash, Expected: g.expected(), Ready: g.ready,
		Satisfied: g.satisfied(), LastReady: g.lastReady,
		Members: make([]string, 0, len(g.members)),
	}
	for p := range g.members {
		r.Members = append(r.Members, p.name)
		if p.ready {
			r.ReadyMembers = append(r.ReadyMembers, p.name)
		}
	}
	slices.Sort(r.Members)
	slices.Sort(r.ReadyMembers)
	return r
}

// ungoverned reports the pods of groups that must still wait and that nothing can hold: they belong to another
// scheduler and carry no gate of ours.
func (e *Engine) ungoverned(s *sequence) (Problem, bool) {
	var names []string
	for i := s.current + 1; i < len(s.groups); i++ {
		for p := range s.groups[i].members {
			if !e.schedulerNames.Has(p.schedulerName) && !p.hasGate(s.gate) {
				names = append(names, p.name)
			}
		}
	}
	if len(names) == 0 {
		return Problem{}, false
	}
	slices.Sort(names)
	const told = 3
	more := ""
	if len(names) > told {
		more = fmt.Sprintf(" and %d more", len(names)-told)
	}
	mend := "add the scheduling gate " + s.gate
	if ours := e.config.SchedulerNames; len(ours) > 0 {
		mend = fmt.Sprintf("set schedulerName to %s, or %s,", strings.Join(ours, " or "), mend)
	}
	return Problem{
		Reason: v1alpha1.ReasonUngovernedPods,
		Message: fmt.Sprintf("%s%s cannot be held: %s in the pod template",
			strings.Join(names[:min(told, len(names))], ", "), more, mend),
	}, true
}

// Waiting are the unbound members of groups that must still wait.
func (e *Engine) Waiting(key types.NamespacedName) []types.NamespacedName {
	e.mu.RLock()
	defer e.mu.RUnlock()

	s := e.sequences[key]
	if s == nil {
		return nil
	}
	var waiting []types.NamespacedName
	for i := s.current + 1; i < len(s.groups); i++ {
		for p := range s.groups[i].members {
			if !p.bound {
				waiting = append(waiting, types.NamespacedName{Namespace: p.namespace, Name: p.name})
			}
		}
	}
	return waiting
}

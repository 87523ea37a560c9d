package sequence

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// Report describes the sequence with this key, if there is one.
func (e *Engine) Report(key types.NamespacedName) (report.Report, bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()

	s := e.sequences[key]
	if s == nil {
		return report.Report{}, false
	}
	r := report.Report{
		UID: s.UID, Generation: s.Generation, Object: s.object, PerNode: s.PerNode, Continuous: s.Continuous, Suspended: s.Suspended, Refused: s.refused(),
		Groups: make([]report.Group, len(s.groups)), Problems: s.problems(),
	}
	if s.PerNode {
		e.reportNodes(s, &r)
	} else {
		l := s.lanes[""]
		r.Current = l.current
		for i := range s.groups {
			r.Groups[i] = l.report(i, e.now)
		}
	}
	if problem, ok := r.TimedOutNodes(); ok {
		r.Problems = append(r.Problems, problem)
	}
	if !s.refused() {
		// First those that pods bring about: ungoverned ones alone mean that pods start out of order.
		r.Problems = append(e.problems(s), r.Problems...)
	}
	return r, true
}

// report describes a group in one lane.
func (l *lane) report(i int, now time.Time) report.Group {
	g, t := l.sequence.groups[i], l.peek(i)
	n := l.need(i)
	r := report.Group{
		Title: g.Title, ContinueOnTimeout: g.ContinueOnTimeout, Timeout: g.Timeout, Hash: g.Hash, Expected: n.Expected, Ready: n.Ready, Satisfied: l.looksSatisfied(i), SatisfiedAt: l.since(i),
		Released: i < l.released, Progress: n.String() + l.pausedWorkloads(i), Members: make([]string, 0, len(t.members)),
		SatisfiedOnce: l.once.has(i), EditedAt: latest(g.editedAt, l.sequence.allowedAt),
	}
	if r.Confirming = l.looksSatisfied(i) && !l.isSure(i) && (l.isNode() || i == l.current); r.Confirming {
		r.Satisfied = false
		r.Progress += ", making sure that no change is missing"
	}
	if g.MinAvailable != nil {
		r.Expected = n.Required
	}
	if r.Released {
		r.ReleasedAt = l.releasedAt(i)
	}
	if i < len(l.passes) && i < l.current {
		r.PassedAt = l.passes[i]
	}
	if i == l.current {
		r.Failure = l.failure(i, now)
		if l.isSure(i) {
			r.WaitUntil = l.waitOver(i)
			r.Progress += ", waiting until " + r.WaitUntil.UTC().Format(time.RFC3339)
		}
	}
	for p := range t.members {
		r.Members = append(r.Members, p.Name)
		if l.isDone(p, g) {
			r.ReadyMembers = append(r.ReadyMembers, p.Name)
		}
	}
	slices.Sort(r.Members)
	slices.Sort(r.ReadyMembers)
	return r
}

// where names a group of the lane in messages.
func (l *lane) where(i int) report.Where {
	return report.Where{Index: i, Groups: len(l.sequence.groups), Title: l.sequence.groups[i].Title, Node: l.name}
}

// failure is why the group will not be satisfied unless somebody acts.
func (l *lane) failure(i int, now time.Time) *spec.Problem {
	g, t := l.sequence.groups[i], l.peek(i)
	switch {
	case l.looksSatisfied(i):
		return nil
	case t.sums.Failed > 0:
		return ptr.To(report.PodFailed(l.where(i), l.failedPods(i)))
	case t.demands.Failed > 0:
		return ptr.To(report.JobFailed(l.where(i), l.failedJobs(i)))
	case !g.ContinueOnTimeout && l.timedOut(i, now):
		return ptr.To(report.TimedOut(l.where(i), g.Timeout, l.need(i), l.pausedWorkloads(i)))
	}
	return nil
}

func (l *lane) failedPods(i int) []string {
	var names []string
	collect := func(p *pod) {
		if p.IsLost() {
			names = append(names, "pod "+p.Name)
		}
	}
	for p := range l.peek(i).members {
		collect(p)
	}
	if len(names) == 0 { // a pod that this group names starts with an earlier one
		for j := range i {
			for p := range l.peek(j).members {
				if _, named := l.sequence.groups[i].Names[p.Name]; named {
					collect(p)
				}
			}
		}
	}
	return names
}

func (l *lane) failedJobs(i int) []string {
	var names []string
	for share := range l.sequence.groups[i].shares {
		if share.entered.Failed > 0 {
			names = append(names, report.FailedJob(&share.workload.Workload))
		}
	}
	return names
}

// problems are those that pods bring about.
func (e *Engine) problems(s *sequence) []spec.Problem {
	var problems []spec.Problem
	if p, ok := e.ungoverned(s); ok {
		problems = append(problems, p)
	}
	if p, ok := e.unsupportedPods(s); ok {
		problems = append(problems, p)
	}
	if p, ok := s.splitGang(); ok {
		problems = append(problems, p)
	}
	if s.PerNode {
		return problems
	}
	l := s.lanes[""]
	for i := range l.current {
		if g := s.groups[i]; g.ContinueOnTimeout && !l.looksSatisfied(i) && l.timedOut(i, e.now) && !l.passes[i].Before(l.deadline(i)) {
			problems = append(problems, report.WentOn(l.where(i), g.Timeout))
		}
	}
	return problems
}

// ungoverned reports the pods of groups that must still wait and that nothing can hold: they belong to another
// scheduler and carry no gate of ours.
func (e *Engine) ungoverned(s *sequence) (spec.Problem, bool) {
	var names []string
	for _, l := range s.lanes {
		first := l.current + 1
		if s.PerNode && !l.isNode() {
			first = 1
		}
		for i := first; i < len(s.groups); i++ {
			for p := range l.peek(i).members {
				_, proven := p.provenGroup(s) // it was held, and released in its turn
				if !proven && !e.schedulerNames.Has(p.SchedulerName) && !p.HasGate(s.Gate) {
					names = append(names, p.Name)
				}
			}
		}
	}
	if len(names) == 0 {
		return spec.Problem{}, false
	}
	return report.Ungoverned(names, s.Sequence, e.config.SchedulerNames), true
}

// unsupportedPods reports gated pods that no scheduler of ours can place on a node in order.
func (e *Engine) unsupportedPods(s *sequence) (spec.Problem, bool) {
	if !s.PerNode {
		return spec.Problem{}, false
	}
	if e.config.ClusterScopeOnly {
		return report.UnsupportedScope(), true
	}
	var names []string
	for i := range s.groups {
		for p := range s.lanes[""].peek(i).members {
			if e.unsupported(p, membership{s, i}) {
				names = append(names, p.Name)
			}
		}
	}
	if len(names) == 0 {
		return spec.Problem{}, false
	}
	return report.UnsupportedPods(names, e.config.SchedulerNames), true
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
	l := s.lanes[""]
	for i := range s.groups {
		if !s.PerNode && l.mayGo(i) {
			continue
		}
		for p := range l.peek(i).members {
			if !p.Bound() && !e.mayGo(p) {
				waiting = append(waiting, types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
			}
		}
	}
	return waiting
}

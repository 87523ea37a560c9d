package sequence

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/spec"
)

// Report is how far a sequence has come: what its status is written from.
type Report struct {
	UID        types.UID
	Generation int64
	// Object is the PodSequence that this reports on, as the engine last saw it: read only.
	Object *v1alpha1.PodSequence
	// PerNode reports that the scope is Node, and Continuous that a group is passed only while it is satisfied.
	PerNode, Continuous bool

	Suspended bool
	// Refused reports that the namespace to which the sequence points does not allow it. The first of Problems says so.
	Refused bool
	// Current is the 0-based index of the first group not passed, or the number of groups. For scope Node it is the
	// minimum over the nodes that take part.
	Current int
	// Groups are the groups in order. For scope Node their numbers are sums over all nodes.
	Groups []GroupReport
	// Nodes are, for scope Node, the nodes that take part, by name.
	Nodes []NodeReport
	// Unbound is, for scope Node, the number of members that have no node yet, and Unplaced of these that of pods which no
	// node is said to miss yet.
	Unbound, Unplaced int

	Problems []spec.Problem

	// Doubt says why confirming takes long; it is for whoever writes status to fill in.
	Doubt string
}

// Confirming reports whether something in the report is being confirmed: in a moment, of which the engine tells as of any
// change, it may be another thing.
func (r Report) Confirming() bool {
	if !r.PerNode {
		return slices.ContainsFunc(r.Groups, func(g GroupReport) bool { return g.Confirming })
	}
	return slices.ContainsFunc(r.Nodes, func(n NodeReport) bool { return n.Group != nil && n.Group.Confirming })
}

// GroupReport is the part of a Report on one group.
type GroupReport struct {
	Title           string
	Timeout         time.Duration // 0: none
	Hash            string
	Expected, Ready int
	Satisfied       bool
	// Confirming reports that the group looks satisfied, and that it is not known yet whether an event is missing which says
	// otherwise. Then Satisfied is false.
	Confirming bool
	// EditedAt is when an edit made the group what it is, or when consent of the target namespace came late; zero if neither.
	EditedAt time.Time
	// SatisfiedOnce reports that the group was satisfied at some time since it was released.
	SatisfiedOnce bool
	// Released reports whether the group's pods may be scheduled.
	Released bool
	// ReleasedAt, SatisfiedAt and PassedAt are when that came about, by the API server's clock as far as it tells; zero
	// while it is not so, or if the time is not known.
	ReleasedAt, SatisfiedAt, PassedAt time.Time
	// Progress says in words how far the group is.
	Progress string
	// WaitUntil is when the wait of a satisfied group is over that is not passed yet.
	WaitUntil time.Time
	// Failure is why the group will not be satisfied unless somebody acts; nil if it may.
	Failure *spec.Problem
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
		UID: s.UID, Generation: s.Generation, Object: s.object, PerNode: s.PerNode, Continuous: s.Continuous, Suspended: s.Suspended, Refused: s.refused(),
		Groups: make([]GroupReport, len(s.groups)), Problems: s.problems(),
	}
	if s.PerNode {
		e.reportNodes(s, &report)
	} else {
		l := s.lanes[""]
		report.Current = l.current
		for i := range s.groups {
			report.Groups[i] = l.report(i, e.now)
		}
	}
	if problem, ok := report.timedOutNodes(s); ok {
		report.Problems = append(report.Problems, problem)
	}
	if !s.refused() {
		// First those that pods bring about: ungoverned ones alone mean that pods start out of order.
		report.Problems = append(e.problems(s), report.Problems...)
	}
	return report, true
}

// report describes a group in one lane.
func (l *lane) report(i int, now time.Time) GroupReport {
	g, t := l.sequence.groups[i], l.peek(i)
	n := l.need(i)
	r := GroupReport{
		Title: g.Title, Timeout: g.Timeout, Hash: g.Hash, Expected: n.Expected, Ready: n.Ready, Satisfied: l.looksSatisfied(i), SatisfiedAt: l.since(i),
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

// failure is why the group will not be satisfied unless somebody acts.
func (l *lane) failure(i int, now time.Time) *spec.Problem {
	g, t := l.sequence.groups[i], l.peek(i)
	on := ""
	if l.isNode() {
		on = " on node " + l.name
	}
	group := fmt.Sprintf("group %d/%d %q%s", i+1, len(l.sequence.groups), g.Title, on)
	switch {
	case l.looksSatisfied(i):
		return nil
	case t.sums.Failed > 0:
		return &spec.Problem{Reason: v1alpha1.ReasonPodFailed, Message: fmt.Sprintf(
			"%s: %s failed and no controller replaces it: delete it and make it again", group, list(l.failedPods(i)))}
	case t.demands.Failed > 0:
		return &spec.Problem{Reason: v1alpha1.ReasonJobFailed, Message: fmt.Sprintf("%s: %s: delete it and make it again", group, list(l.failedJobs(i)))}
	case !g.ContinueOnTimeout && l.timedOut(i, now):
		return &spec.Problem{Reason: v1alpha1.ReasonPodsReadyTimeout, Message: fmt.Sprintf(
			"%s was not ready within %s: %s%s; later groups stay held until it is", group, g.Timeout, l.need(i), l.pausedWorkloads(i))}
	}
	return nil
}

func (l *lane) failedPods(i int) []string {
	var names []string
	collect := func(p *pod) {
		if p.Failed && p.Owner.UID == "" {
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
			names = append(names, fmt.Sprintf("%s failed (%s)", share.workload, share.workload.Failure))
		}
	}
	return names
}

// list tells of the first few.
func list(names []string) string {
	slices.Sort(names)
	const told = 3
	text := strings.Join(names[:min(told, len(names))], ", ")
	if len(names) > told {
		text += fmt.Sprintf(" and %d more", len(names)-told)
	}
	return text
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
			problems = append(problems, spec.Problem{Reason: v1alpha1.ReasonPodsReadyTimeout, Message: fmt.Sprintf(
				"group %d/%d %q was not ready within %s: went on without it", i+1, len(s.groups), g.Title, g.Timeout)})
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
	var mends []string
	if ours := e.config.SchedulerNames; len(ours) > 0 {
		mends = append(mends, "set schedulerName to "+strings.Join(ours, " or "))
	}
	if !s.PerNode {
		mends = append(mends, "add the scheduling gate "+s.Gate)
	}
	mend := strings.Join(mends, ", or ")
	if len(mends) > 1 {
		mend += ","
	}
	return spec.Problem{
		Reason:  v1alpha1.ReasonUngovernedPods,
		Message: fmt.Sprintf("%s cannot be held: %s in the pod template", list(names), mend),
	}, true
}

// unsupportedPods reports gated pods that no scheduler of ours can place on a node in order.
func (e *Engine) unsupportedPods(s *sequence) (spec.Problem, bool) {
	if !s.PerNode {
		return spec.Problem{}, false
	}
	if e.config.ClusterScopeOnly {
		return spec.Problem{Reason: v1alpha1.ReasonUnsupportedScope, Message: "scope Node needs podsequence-scheduler, which is not part of this installation: gated pods stay gated; " +
			"install it, or use scope Cluster"}, true
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
	return spec.Problem{Reason: v1alpha1.ReasonUnsupportedScope, Message: fmt.Sprintf(
		"%s stay gated: their scheduler does not know scope Node; set schedulerName to %s in the pod template, or install the routing policy",
		list(names), strings.Join(e.config.SchedulerNames, " or "))}, true
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

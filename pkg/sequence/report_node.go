package sequence

import (
	"fmt"
	"slices"
	"strings"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/spec"
)

// NodeReport is how far a sequence of scope Node is on one node.
type NodeReport struct {
	Name string
	// Current is the 0-based index of the first group not passed that has pods or a due DaemonSet there, or the number of
	// groups.
	Current int
	// Completed tells that every group that has pods or a due DaemonSet there is satisfied there.
	Completed bool
	// TimedOut are the 0-based indices of the groups that have timed out there.
	TimedOut []int32
	// ReadyBefore are those of the groups that were satisfied there and are not any more.
	ReadyBefore []int32
	// Group is the current group, if there is one: its numbers are those of this node.
	Group *GroupReport
}

// reportNodes describes the nodes that take part, and sums them up.
func (e *Engine) reportNodes(s *sequence, report *Report) {
	for i, g := range s.groups {
		report.Groups[i] = GroupReport{
			Title: g.Title, Timeout: g.Timeout, Hash: g.Hash, Satisfied: true, Members: []string{},
			EditedAt: latest(g.editedAt, s.allowedAt),
			Released: !s.refused() && (!s.Suspended || (s.begun.Load() && i == 0)),
		}
		if i == 0 && report.Groups[0].Released {
			report.Groups[0].ReleasedAt = s.created
		}
	}
	for _, l := range s.lanes {
		if !l.isNode() {
			for _, t := range l.tallies {
				for p := range t.members {
					report.Unbound++
					if made := e.workloads.makerOf(p); made.workload == nil || made.workload.shares[s] == nil {
						report.Unplaced++
					}
				}
			}
			continue
		}
		if node, takesPart := e.reportNode(l, report.Groups); takesPart {
			report.Nodes = append(report.Nodes, node)
		}
	}
	slices.SortFunc(report.Nodes, func(a, b NodeReport) int { return strings.Compare(a.Name, b.Name) })
	for i := range report.Groups {
		g := &report.Groups[i]
		g.Satisfied = g.Satisfied && g.Expected > 0
	}
	if len(report.Nodes) > 0 {
		report.Current = slices.MinFunc(report.Nodes, func(a, b NodeReport) int { return a.Current - b.Current }).Current
	}
}

// reportNode describes one node and adds its numbers to those of the groups.
func (e *Engine) reportNode(l *lane, sums []GroupReport) (node NodeReport, takesPart bool) {
	node = NodeReport{Name: l.name, Current: len(l.sequence.groups), Completed: true}
	for i := range l.sequence.groups {
		if l.applies(l.sequence.groups[i]) && l.timedOut(i, e.now) {
			node.TimedOut = append(node.TimedOut, int32(i))
		}
		if l.satisfiedOnce(i) && !l.looksSatisfied(i) && l.sequence.groups[i].Timeout > 0 {
			node.ReadyBefore = append(node.ReadyBefore, int32(i))
		}
		n := l.need(i)
		if n.Expected == 0 {
			continue
		}
		takesPart = true
		sums[i].Expected += n.Expected
		sums[i].Ready += min(n.Ready, n.Expected)
		if !l.isSure(i) && (!l.looksSatisfied(i) || l.applies(l.sequence.groups[i])) {
			node.Completed, sums[i].Satisfied = false, false
		}
		if _, passed := l.passed(i, e.now); !passed && node.Group == nil {
			group := l.report(i, e.now)
			node.Current, node.Group = i, &group
		}
	}
	return node, takesPart
}

// timedOutNodes reports the nodes that went on without a group.
func (r Report) timedOutNodes(s *sequence) (spec.Problem, bool) {
	var first string
	nodes := 0
	for _, n := range r.Nodes {
		i := slices.IndexFunc(n.TimedOut, func(group int32) bool { return s.groups[group].ContinueOnTimeout })
		if i < 0 {
			continue
		}
		if nodes++; first == "" {
			first = r.wentOn(int(n.TimedOut[i]), n.Name)
		}
	}
	if nodes > 1 {
		first += fmt.Sprintf("; so did %d other nodes", nodes-1)
	}
	return spec.Problem{Reason: v1alpha1.ReasonPodsReadyTimeout, Message: first}, nodes > 0
}

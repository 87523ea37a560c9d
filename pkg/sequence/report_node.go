package sequence

import (
	"slices"
	"strings"

	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// reportNodes describes the nodes that take part, and sums them up.
func (k *knowledge) reportNodes(s *sequence, r *report.Report) {
	released := hold.Released(spec.Before(len(s.groups)), s.releasedAtFirst(), s.Suspended, s.refused())
	for i, g := range s.groups {
		r.Groups[i] = report.Group{
			Title: g.Title, ContinueOnTimeout: g.ContinueOnTimeout, Timeout: g.Timeout, Hash: g.Hash, Satisfied: true, Members: []string{}, Skipped: g.Skip,
			EditedAt: latest(g.editedAt, s.allowedAt),
			Released: released.Has(i),
		}
		if i == 0 && r.Groups[0].Released {
			r.Groups[0].ReleasedAt = s.created
		}
	}
	for _, d := range s.domains {
		if !d.isNode() {
			for _, state := range d.groupStates {
				group := &r.Groups[state.group]
				for p := range state.members {
					if p.IsReplaced() {
						continue
					}
					r.Unbound++
					group.Satisfied = false
					if owner := k.workloads.ownerOf(p); owner.workload == nil || owner.workload.demands[s] == nil {
						group.Expected++ // the pods of a DaemonSet are expected on its nodes
					}
				}
			}
			continue
		}
		if node, takesPart := k.reportNode(d, r.Groups); takesPart {
			r.Nodes = append(r.Nodes, node)
		}
	}
	slices.SortFunc(r.Nodes, func(a, b report.Node) int { return strings.Compare(a.Name, b.Name) })
	for i := range r.Groups {
		g := &r.Groups[i]
		g.Satisfied = g.Satisfied && g.Expected > 0
	}
	if len(r.Nodes) > 0 {
		r.Current = slices.MinFunc(r.Nodes, func(a, b report.Node) int { return a.Current - b.Current }).Current
	}
}

// reportNode describes one node and adds its numbers to those of the groups.
func (k *knowledge) reportNode(d *domain, sums []report.Group) (node report.Node, takesPart bool) {
	node = report.Node{Name: d.name, Current: len(d.sequence.groups), Completed: true}
	for i := range d.sequence.groups {
		if d.applies(d.sequence.groups[i]) && d.timedOut(i, k.now) {
			node.TimedOut = append(node.TimedOut, int32(i))
		}
		if d.satisfiedOnce(i) && !d.looksSatisfied(i) && d.sequence.groups[i].Timeout > 0 {
			node.ReadyBefore = append(node.ReadyBefore, int32(i))
		}
		n := d.need(i)
		if n.Expected == 0 {
			continue
		}
		takesPart = true
		sums[i].Expected += n.Expected
		sums[i].Ready += min(n.Ready, n.Expected)
		if d.sequence.groups[i].Skip {
			continue // nobody waits for it
		}
		if !d.isConfirmed(i) && (!d.looksSatisfied(i) || d.applies(d.sequence.groups[i])) {
			node.Completed, sums[i].Satisfied = false, false
		}
		if _, passed := d.IsDone(d.progressFacts(), i, k.now); !passed && node.Group == nil {
			group := d.report(i, k.now)
			node.Current, node.Group = i, &group
		}
	}
	return node, takesPart
}

package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/spec"
)

// maxNodeMemory is how much status may remember of nodes, in bytes. That is enough for 9,000 nodes of which the same is remembered, and
// each other combination of groups takes the place of some.
const maxNodeMemory = 72 << 10

// maxNodeMemories is how many entries that may be.
const maxNodeMemories = 1024

// memory is what the programs must find in status after a restart. It repeats what groups has for earlier releases.
func (r Report) memory(groups []v1alpha1.GroupStatus) *v1alpha1.SequenceMemory {
	m := v1alpha1.SequenceMemory{Nodes: r.nodeMemory()}
	if slices.ContainsFunc(groups, func(g v1alpha1.GroupStatus) bool { return g.Hash != "" }) {
		for i, g := range groups {
			m.Groups = append(m.Groups, v1alpha1.GroupMemory{Hash: g.Hash, ChangedAt: g.ChangedAt, Completed: r.Groups[i].Completed})
			if at := r.Groups[i].LostAt; !at.IsZero() {
				m.Groups[i].LostAt = new(metav1.NewTime(at))
			}
			if at := r.Groups[i].FailuresOverAt; !at.IsZero() {
				m.Groups[i].FailuresOverAt = new(metav1.NewTime(at))
			}
		}
	}
	if m.Groups == nil && m.Nodes == nil {
		return nil
	}
	return &m
}

// sameMemory are nodes of which the same is remembered.
type sameMemory struct {
	v1alpha1.NodeMemory
	nodes []spec.NodeID
	// urgency is lower for what must not be forgotten.
	urgency int
	// key says what is remembered.
	key string
}

// nodeMemory is what status remembers of nodes. If there is not room for all, it forgets first that groups timed out: their time then
// counts anew after a restart, and pods wait longer. That a group was ready before comes last, since after a restart its timeout would
// apply again; last of all where others would then go on without it.
func (r Report) nodeMemory() []v1alpha1.NodeMemory {
	byKey := map[string]*sameMemory{}
	for _, n := range r.Nodes {
		if len(n.TimedOut)+len(n.ReadyBefore) == 0 {
			continue
		}
		key := fmt.Sprint(n.TimedOut, n.ReadyBefore)
		same := byKey[key]
		if same == nil {
			same = &sameMemory{NodeMemory: v1alpha1.NodeMemory{TimedOut: n.TimedOut, ReadyBefore: n.ReadyBefore}, urgency: r.urgency(n), key: key}
			byKey[key] = same
		}
		same.nodes = append(same.nodes, spec.NodeIDOf(n.Name))
	}
	var memory []v1alpha1.NodeMemory
	room := maxNodeMemory
	for _, same := range slices.SortedFunc(maps.Values(byKey), func(a, b *sameMemory) int {
		return cmp.Or(a.urgency-b.urgency, len(b.nodes)-len(a.nodes), cmp.Compare(a.key, b.key))
	}) {
		const names, perIndex, perNode = 50, 3, 8 // what JSON makes of it
		fits := (room - names - perIndex*(len(same.TimedOut)+len(same.ReadyBefore))) / perNode
		if fits <= 0 || len(memory) == maxNodeMemories {
			continue
		}
		nodes := same.nodes[:min(len(same.nodes), fits)]
		room -= names + perIndex*(len(same.TimedOut)+len(same.ReadyBefore)) + perNode*len(nodes)
		same.Nodes = spec.JoinNodes(nodes)
		memory = append(memory, same.NodeMemory)
	}
	return memory
}

// urgency is 0 where pods would start too early if it was forgotten, 1 where a node would count as failed, and 2 where pods would wait
// longer.
func (r Report) urgency(n Node) int {
	switch {
	case slices.ContainsFunc(n.ReadyBefore, func(group int32) bool { return r.Groups[group].ContinueOnTimeout }):
		return 0
	case len(n.ReadyBefore) > 0:
		return 1
	}
	return 2
}

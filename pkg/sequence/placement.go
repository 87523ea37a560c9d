package sequence

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/pkg/sequence/placement"
	"example.com/podsequence/pkg/sequence/report"
)

// Placement says to which nodes a pod may be scheduled while sequences of node scope keep it from some.
type Placement struct {
	engine *Engine
	pod    *corev1.Pod
	needs  []membership
}

// Placement returns nil if no sequence of node scope keeps the pod from any node. It waits for no event.
func (e *Engine) Placement(object *corev1.Pod) *Placement {
	seen, known := e.published.find(object)
	if !known || seen.nodeNeeds == nil {
		return nil
	}
	return &Placement{engine: e, pod: object, needs: seen.nodeNeeds.needs}
}

// Open answers for one node at this moment. The Decision is held if the pod may not be placed there. It waits for no event.
func (p *Placement) Open(node string) report.Decision {
	needs := p.needs
	if seen, known := p.engine.published.find(p.pod); known {
		needs = seen.needs() // a sequence may have been changed or deleted since
	}
	for _, m := range needs {
		if t := m.sequence.publishedOn(node); t.State(m.group) != placement.Open {
			return p.engine.closed(m, t, node)
		}
	}
	return report.Decision{}
}

// publishedOn is how far the sequence is on a node, as of the last event.
func (s *sequence) publishedOn(name string) placement.Standing {
	s.domainsMu.RLock()
	defer s.domainsMu.RUnlock()
	if d := s.domains[name]; d != nil {
		return d.published.Standing
	}
	found, _ := s.knowledge.published.nodes.Load(name)
	n, _ := found.(*node)
	return s.onEmptyNode(n)
}

// closed says why a node is not open. What the group there lacks it says only if no event is under way.
func (e *Engine) closed(m membership, t placement.Standing, node string) report.Decision {
	s := m.sequence
	d := report.Decision{Held: true, Sequence: s.Key, Groups: len(s.groups), Group: m.group, Title: s.groups[m.group].Title, Node: node}
	switch {
	case !t.Known:
		d.Reason = report.HeldByUnknownNode
	case t.Passed.Contains(s.groups[m.group].Awaited):
		d.Reason = report.HeldBySuspension
	case e.mu.TryRLock():
		defer e.mu.RUnlock()
		if n := e.nodes.byName[node]; n != nil {
			s.describeOn(&d, n, e.now)
		}
	default:
		d.Group = (s.groups[m.group].Awaited &^ t.Passed).First()
		d.Title = s.groups[d.Group].Title
	}
	return d
}

// Few returns the nodes that are open to the pod if they are no more than limit. While an event is under way it does not
// wait to find out. Nodes that lack devices are among them: the scheduler may know of devices that nodes do not list.
func (p *Placement) Few(limit int) (nodes sets.Set[string], few bool) {
	e := p.engine
	if !e.mu.TryRLock() {
		return nil, false
	}
	defer e.mu.RUnlock()

	known, _ := e.namespaces.find(p.pod)
	switch {
	case known.class != nil && known.class.nodes.Open+known.class.nodes.Lacking <= limit:
		nodes = make(sets.Set[string], known.class.nodes.Open)
		for _, state := range [2]placement.State{placement.Open, placement.LackingOpen} {
			for slot := range known.class.nodes.In(state) {
				nodes.Insert(e.nodes.slots[slot].Name)
			}
		}
		return nodes, true
	case known.pin != nil:
		nodes = e.nodes.openNodesOfPin(known)
		return nodes, len(nodes) <= limit
	}
	return nil, false
}

// Need is a pod's place in a sequence of node scope that keeps it from some nodes.
type Need struct {
	Sequence types.NamespacedName
	Group    int // 0-based
}

// Needs are the same, and in the same order, for pods that sequences keep from the same nodes.
func (p *Placement) Needs() []Need {
	if p == nil {
		return nil
	}
	needs := make([]Need, len(p.needs))
	for i, m := range p.needs {
		needs[i] = Need{m.sequence.Key, m.group}
	}
	return needs
}

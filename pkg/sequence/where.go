package sequence

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Placement says to which nodes a pod may go while sequences of node scope keep it from some.
type Placement struct {
	engine *Engine
	pod    *corev1.Pod
	needs  []membership
}

// Placement returns nil if no sequence of node scope keeps the pod from any node.
func (e *Engine) Placement(object *corev1.Pod) *Placement {
	e.mu.RLock()
	defer e.mu.RUnlock()

	p, _ := e.find(object)
	needs := e.needs(p)
	if len(needs) == 0 {
		return nil
	}
	return &Placement{engine: e, pod: object, needs: needs}
}

// Open answers for one node at this moment. The Decision is held if the pod may not be placed there.
func (p *Placement) Open(node string) Decision {
	e := p.engine
	e.mu.RLock()
	defer e.mu.RUnlock()

	for _, m := range p.needs {
		if !m.sequence.listed { // it was changed or deleted since
			found, _ := e.find(p.pod)
			p = &Placement{engine: e, pod: p.pod, needs: e.needs(found)}
			break
		}
	}
	for _, m := range p.needs {
		s := m.sequence
		if s.stateOn(node, m.group) == nodeOpen {
			continue
		}
		d := Decision{Held: true, Sequence: s.key, groups: len(s.groups), Group: m.group, title: s.groups[m.group].title, node: node}
		if n := e.nodes[node]; n == nil {
			d.reason = heldByUnknownNode
		} else {
			d.describeOn(n, s, e.now)
		}
		return d
	}
	return Decision{}
}

// Few returns the nodes that are open to the pod if they are no more than limit.
func (p *Placement) Few(limit int) (nodes sets.Set[string], few bool) {
	e := p.engine
	e.mu.RLock()
	defer e.mu.RUnlock()

	known, _ := e.find(p.pod)
	if known.class == nil || known.class.open > limit {
		return nil, false
	}
	nodes = make(sets.Set[string], known.class.open)
	for slot, state := range known.class.states {
		if state == nodeOpen {
			nodes.Insert(e.slots[slot].name)
		}
	}
	return nodes, true
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
		needs[i] = Need{m.sequence.key, m.group}
	}
	slices.SortFunc(needs, func(a, b Need) int { return strings.Compare(a.Sequence.String(), b.Sequence.String()) })
	return needs
}

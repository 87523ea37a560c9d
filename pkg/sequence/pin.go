package sequence

import (
	"iter"
	"maps"

	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/placement"
)

// nodesOf are the names of the nodes that a pin means: usually one.
func (all *unplaced) nodesOf(p inventory.Pin) iter.Seq[string] {
	if p.Node != "" {
		return func(yield func(string) bool) { yield(p.Node) }
	}
	return maps.Keys(all.hosts[p.Host])
}

// nodeOfPin is the first by name of the nodes that the pin means; nil if there is none.
func (all *unplaced) nodeOfPin(p inventory.Pin) *node {
	var first *node
	for name := range all.nodesOf(p) {
		if n := all.byName[name]; n != nil && (first == nil || n.Name < first.Name) {
			first = n
		}
	}
	return first
}

// hasPinned reports whether some pod asks for this node. n may be nil.
func (all *unplaced) hasPinned(n *node) bool {
	return n != nil && (len(all.pinned[inventory.Pin{Node: n.Name}]) > 0 || len(all.pinned[inventory.Pin{Host: n.Hostname()}]) > 0)
}

// openOnPin reports whether the sequence releases the pod to some node that the pin means.
func (all *unplaced) openOnPin(p inventory.Pin, m membership) bool {
	for name := range all.nodesOf(p) {
		if m.sequence.stateOn(name, m.group) == placement.Open {
			return true
		}
	}
	return false
}

// openTo reports whether the node is open to the pinned pod in every sequence that keeps it from some.
func (p *pod) openTo(name string) bool {
	for _, m := range p.pin.needs {
		if m.sequence.stateOn(name, m.group) != placement.Open {
			return false
		}
	}
	return true
}

// isReleasedOnPin reports whether every sequence lets a pinned pod go to its node. It is a function of its own because what it
// iterates with is allocated when it begins.
func (all *unplaced) isReleasedOnPin(p *pod) bool {
	for name := range all.nodesOf(p.pin.Pin) {
		if p.openTo(name) {
			return true
		}
	}
	return false
}

// openNodesOfPin are the nodes that are open to a pinned pod.
func (all *unplaced) openNodesOfPin(p *pod) sets.Set[string] {
	open := sets.Set[string]{}
	for name := range all.nodesOf(p.pin.Pin) {
		if p.openTo(name) {
			open.Insert(name)
		}
	}
	return open
}

// markPinsDirty marks for re-evaluation the pods that ask for a node which has changed.
func (all *unplaced) markPinsDirty(tx *transaction) {
	for i := range tx.dirtyDomains {
		if d := &tx.dirtyDomains[i]; d.sequence.registered && d.isNode() && d.published != d.before {
			all.markPinsToDirty(d.name, d.sequence, d.before.Standing, d.published.Standing, tx)
		}
	}
	for _, change := range tx.emptyNodes {
		all.markPinsToDirty(change.node, change.sequence, change.before, change.sequence.onEmptyNode(all.byName[change.node]), tx)
	}
	for _, changed := range tx.pins {
		for p := range all.pinned[changed.Pin] {
			if tx.dirtyPods = append(tx.dirtyPods, p); changed.added {
				p.pin.opened = tx.number
			}
		}
	}
}

// markPinsToDirty marks for re-evaluation the pods that ask for a node where a sequence is now further than before, or less far.
func (all *unplaced) markPinsToDirty(node string, s *sequence, before, now placement.Standing, tx *transaction) {
	if before == now {
		return
	}
	pins := []inventory.Pin{{Node: node}}
	if n := all.byName[node]; n != nil {
		pins = append(pins, inventory.Pin{Host: n.Hostname()})
	}
	for _, at := range pins {
		for p := range all.pinned[at] {
			for _, m := range p.pin.needs {
				if m.sequence != s {
					continue
				}
				tx.dirtyPods = append(tx.dirtyPods, p)
				if before.State(m.group) != placement.Open && p.openTo(node) {
					p.pin.opened = tx.number
				}
			}
		}
	}
}

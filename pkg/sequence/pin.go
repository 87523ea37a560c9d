package sequence

import (
	"iter"
	"maps"

	"example.com/podsequence/pkg/sequence/inventory"
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

// openOnPin reports whether a node that the pin means is open to a pod with these places.
func (all *unplaced) openOnPin(p inventory.Pin, needs ...membership) bool {
	for name := range all.nodesOf(p) {
		if openTo(name, needs) {
			return true
		}
	}
	return false
}

// openTo reports whether the node is open to pods with each of these places.
func openTo(name string, needs []membership) bool {
	for _, m := range needs {
		if !m.sequence.isOpen(name, m.group) {
			return false
		}
	}
	return true
}

// markPinsDirty marks for re-evaluation the pods that ask for a node which has come, gone, or changed its host name.
func (all *unplaced) markPinsDirty(tx *transaction) {
	for _, changed := range tx.pins {
		for p := range all.pinned[changed.Pin] {
			if changed.added {
				p.opened++
			}
			tx.dirtyPods = append(tx.dirtyPods, p)
		}
	}
}

// markPinsTo marks for re-evaluation the pods that ask for a node where a sequence is now further than before, or less far.
func (all *unplaced) markPinsTo(changed dirtyDomain, tx *transaction) {
	pins := []inventory.Pin{{Node: changed.name}}
	if n := all.byName[changed.name]; n != nil {
		pins = append(pins, inventory.Pin{Host: n.Hostname()})
	}
	for _, at := range pins {
		for p := range all.pinned[at] {
			for _, m := range p.needs() {
				if m.sequence != changed.sequence {
					continue
				}
				if !changed.before.isOpen(m.group) && openTo(changed.name, p.needs()) {
					p.opened++
				}
				tx.dirtyPods = append(tx.dirtyPods, p)
			}
		}
	}
}

package sequence

import (
	"iter"
	"maps"
	"slices"
	"time"

	"example.com/podsequence/pkg/sequence/inventory"
)

// unplaced are the unbound pods that sequences of scope Node keep from some nodes, by what they wait for: those that are pinned by the node
// that they ask for, all others by their places in these sequences.
type unplaced struct {
	*nodes
	pinned   map[inventory.Pin]map[*pod]struct{}
	unpinned map[membership]map[*pod]struct{}
}

func newUnplaced(nodes *nodes) unplaced {
	return unplaced{nodes: nodes, pinned: map[inventory.Pin]map[*pod]struct{}{}, unpinned: map[membership]map[*pod]struct{}{}}
}

// hold reports whether a pod must wait that a sequence keeps from some nodes: one that is pinned does while its node is not open. Any other is
// tried. A pod that the engine has not entered waits until it has: who tries it must find what keeps it from nodes, see Placement.
func (all *unplaced) hold(p *pod, m membership) bool {
	switch {
	case p.kept == nil:
		return true
	case p.Pin().IsOne():
		return !all.openOnPin(p.Pin(), m)
	}
	return false
}

// reasonOf returns what a pod waits for that this sequence holds.
func (all *unplaced) reasonOf(p *pod, m *membership) reason {
	r := reason{sequence: m.sequence}
	if !m.sequence.PerNode || p.kept == nil || !p.Pin().IsOne() {
		return r
	}
	if n := all.nodeOfPin(p.Pin()); n == nil {
		r.group = -1
	} else if waitsFor := m.sequence.domains[n.Name].Current() & m.sequence.groups[m.group].Awaited; waitsFor != 0 {
		r.group = int8(waitsFor.First()) + 1
	}
	return r
}

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

// A pod that is not pinned is tried, not held: its scheduler looks for a node, and Filter refuses those that are not open. A pod for which none
// was found comes back when a node opens to it. Then as many pods are tried as there is room for on the node, and all others together a moment later.
// So what a node costs that opens does not grow with the number of pods that wait, nor what they cost with the number of nodes.

// restAfter is when the others are tried after a node opened. Pods cost their scheduler less in its queue of active pods than anywhere else: it goes
// through the others whenever any pod is bound. So a crowd for which one node after another opens had best stay there.
const restAfter = time.Second

// enter enters the places that keep a pod from some nodes, in place of those that it had.
func (all *unplaced) enter(p *pod, needs []membership) {
	all.forget(p)
	if len(needs) == 0 {
		return
	}
	if p.kept = &needs; slices.Equal(needs, p.memberships()) {
		p.kept = p.places // most often
	}
	if pin := p.Pin(); pin.IsOne() {
		insert(all.pinned, pin, p)
		return
	}
	for _, m := range needs {
		insert(all.unpinned, m, p)
	}
}

// forget undoes enter.
func (all *unplaced) forget(p *pod) {
	if p.kept == nil {
		return
	}
	remove(all.pinned, p.Pin(), p)
	for _, m := range p.needs() {
		remove(all.unpinned, m, p)
	}
	p.kept = nil
}

// markOpened marks for re-evaluation at most so many pods with this place, because a node has opened to it. It reports whether there are no others.
func (all *unplaced) markOpened(m membership, most int, tx *transaction) bool {
	for p := range all.unpinned[m] {
		if most == 0 {
			return false
		}
		most--
		p.opened++
		tx.dirtyPods = append(tx.dirtyPods, p)
	}
	return true
}

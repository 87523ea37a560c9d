package sequence

import (
	"math"
	"slices"
	"time"
)

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

// tryOn tries pods on nodes that have opened, no more than there is room for, and the others a moment later. room has the number of pods by the
// place to which nodes opened.
func (k *knowledge) tryOn(room map[membership]int, tx *transaction) {
	for m, left := range room {
		if k.unplaced.markOpened(m, left, tx) {
			continue
		}
		if m.sequence.untried == 0 {
			k.retries.Set(&m.sequence.retry, k.now.Add(restAfter))
		}
		m.sequence.untried.Add(m.group)
	}
}

// tryRest tries all pods of the groups of which some were not tried on nodes that have opened.
func (k *knowledge) tryRest(tx *transaction) {
	for _, s := range slices.Collect(k.retries.Due(k.now)) {
		for group := range s.untried.All() {
			k.unplaced.markOpened(membership{s, group}, math.MaxInt, tx)
		}
		s.untried = 0
	}
}

package sequence

import (
	"slices"
	"time"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/placement"
)

// settle works out what the transaction changed, publishes it and reports it.
func (e *Engine) settle(tx *transaction) Changes {
	changes := Changes{}
	for _, key := range tx.edited {
		changes.touch(key)
		changes.Advanced = append(changes.Advanced, key)
	}
	for _, d := range tx.domains {
		if d.sequence.listed {
			e.settleDomain(d, tx, &changes)
		}
	}
	// Only now that every domain stands where it will stand: a pod may be in several sequences. Nodes first: what they
	// are to an equivalence class may hold pods that other domains released.
	e.refreshClasses(tx)
	e.publishNodes(tx)
	for _, d := range tx.domains {
		d.touched = false
		if before := d.published; d.sequence.listed {
			d.publish()
			e.noteReleases(d, before)
			e.settlePods(d, before, &changes)
		}
	}
	e.settlePodsForNodes(tx, &changes)
	for _, p := range tx.placed {
		e.release(&changes, p.pod, p.waited)
		if !p.held {
			e.hold(&changes, p.pod)
		}
	}
	for _, p := range tx.sighted {
		e.noteSighted(p)
	}
	e.dropSpentDomains(tx)
	e.publishEntered(tx, &changes)
	return changes
}

// refreshClasses works out anew what nodes are to equivalence classes.
func (e *Engine) refreshClasses(tx *transaction) {
	for _, d := range tx.domains {
		if d.sequence.listed && d.isNode() && (d.published.unpublished || d.standing() != d.published.Standing) {
			for c := range d.sequence.classes {
				c.refresh(d.node, tx)
			}
		}
	}
	for _, change := range tx.emptyNodes {
		if n := e.nodes[change.node]; change.before != change.sequence.onEmptyNode(n) {
			for c := range change.sequence.classes {
				c.refresh(n, tx)
			}
		}
	}
	for _, entry := range tx.refresh {
		entry.class.refresh(entry.node, tx)
	}
}

// settlePodsForNodes releases and holds pods for which nodes changed.
func (e *Engine) settlePodsForNodes(tx *transaction, changes *Changes) {
	for _, change := range tx.emptyNodes {
		e.settlePins(change.sequence, change.node, change.before, change.sequence.onEmptyNode(e.nodes[change.node]), changes)
	}
	for _, c := range tx.classes {
		e.settleClass(c, changes)
	}
	for _, pin := range tx.pins {
		for p := range e.pinned[pin] {
			e.release(changes, p, true)
			e.hold(changes, p)
		}
	}
}

// dropSpentDomains forgets the domains of nodes that say no more than none would.
func (e *Engine) dropSpentDomains(tx *transaction) {
	for _, d := range tx.domains {
		if d.isNode() && d.isSpent() {
			e.alarms.set(&d.alarm, time.Time{})
			d.sequence.domainsMu.Lock()
			delete(d.sequence.domains, d.name)
			d.sequence.domainsMu.Unlock()
		}
	}
}

// publishEntered publishes what the events brought. Who asked about a pod before it was published has left a note.
func (e *Engine) publishEntered(tx *transaction, changes *Changes) {
	for _, name := range tx.namespaces {
		e.publishNamespace(name)
	}
	for _, p := range tx.entered {
		e.publish(p.pod)
		if e.unseen.take(p.UID, p.ResourceVersion) && !p.noted {
			e.release(changes, p.pod, true)
			e.hold(changes, p.pod)
		}
	}
	for _, name := range tx.namespaces {
		if e.consents.refused[name] == 0 {
			e.published.refusing.Delete(name) // last: who reads this reads what is published above, too
		}
	}
	if len(e.selectors) == 0 {
		e.published.selectors.Store(false) // last, for the same reason
	}
}

// publishNodes has the nodes read from now on on which sequences have nothing, see emptynode.go.
func (e *Engine) publishNodes(tx *transaction) {
	for _, name := range tx.nodes {
		if n := e.nodes[name]; n != nil {
			e.published.nodes.Store(name, n)
		} else {
			e.published.nodes.Delete(name)
		}
	}
}

// settleDomain brings the domain up to its sums and to the time.
func (e *Engine) settleDomain(d *domain, tx *transaction, changes *Changes) {
	doubted := d.unconfirmed
	d.evaluate(e, tx)
	d.advance(e.now)
	e.alarms.set(&d.alarm, d.wake)
	e.askForDomain(d, changes)
	if d.answered = doubted && !d.unconfirmed; d.answered && !d.sequence.PerNode {
		changes.Advanced = append(changes.Advanced, d.sequence.Key) // if it is not passed, what it waits for is known only now
	}
	changes.touch(d.sequence.Key)
}

// settlePods lets the pods go that the domain held and holds no more.
func (e *Engine) settlePods(d *domain, before publishedDomain, changes *Changes) {
	s := d.sequence
	switch {
	case s.DryRun: // nobody waits for it
	case d.isNode():
		if d.published != before {
			e.settlePins(s, d.name, before.Standing, d.published.Standing, changes)
		}
	case !s.PerNode:
		if d.Passed != before.Passed {
			changes.Advanced = append(changes.Advanced, s.Key)
		}
		if before.unpublished || before.Released == d.Released {
			return
		}
		for i := range s.groups {
			switch is, was := d.Released.Has(i), before.Released.Has(i); {
			case is && !was:
				for p := range d.peek(i).members {
					e.release(changes, p, true)
					if len(p.memberships) > 1 {
						e.hold(changes, p) // another sequence may still hold it, and the pod says that this one does
					}
				}
			case was && !is:
				for p := range d.peek(i).members {
					e.hold(changes, p)
				}
			}
		}
	}
}

// settlePins lets the pods go that are pinned to a node that has opened, and holds those pinned to one that has closed, or
// where they wait for another group than before.
func (e *Engine) settlePins(s *sequence, node string, before, now placement.Standing, changes *Changes) {
	if before == now || s.DryRun {
		return
	}
	gone := before.Known && !now.Known
	pins := []inventory.Pin{{Node: node}}
	if n := e.nodes[node]; n != nil {
		pins = append(pins, inventory.Pin{Host: n.Hostname()})
	}
	for _, pin := range pins {
		for p := range e.pinned[pin] {
			for _, m := range p.memberships {
				switch is, was := now.Released.Has(m.group), before.Released.Has(m.group); {
				case m.sequence != s:
				case is && (!was || !before.Known):
					e.release(changes, p, true)
				case gone, !is && (was || now.Passed != before.Passed):
					e.hold(changes, p)
				}
			}
		}
	}
}

// empty reports whether nothing counts in the domain.
func (d *domain) empty() bool {
	return !slices.ContainsFunc(d.groupStates, func(state *groupState) bool { return len(state.members) > 0 })
}

// settleClass lets the pods of an equivalence class go when a node has opened for them, or when there is nothing left to wait for.
func (e *Engine) settleClass(c *equivalenceClass, changes *Changes) {
	held := c.nodes.Held()
	for p := range c.pods {
		switch {
		case c.opened, c.wasHeld && !held:
			e.release(changes, p, true)
		case held && !c.wasHeld:
			e.hold(changes, p)
		}
	}
	c.touched, c.opened = false, false
}

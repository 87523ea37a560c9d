package sequence

import (
	"slices"
	"time"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/placement"
)

// settle works out what the transaction changed, and publishes it. What differs from what was published is reported.
//
// Pods come last: a pod may be in several sequences, and who reads that it is released must find the nodes open to which it may
// be scheduled. Whether they are looked at in this order or that makes no difference.
func (k *knowledge) settle(tx *transaction) Changes {
	changes := Changes{}
	k.settled++
	for _, key := range tx.edited {
		changes.touch(key)
		changes.Advanced = append(changes.Advanced, key)
	}
	for _, d := range tx.domains {
		if d.sequence.listed {
			k.advance(d.domain, tx, &changes)
		}
	}
	k.refreshClasses(tx)
	k.publishNodes(tx)
	k.publishDomains(tx)
	k.touchPins(tx)
	for _, name := range tx.namespaces {
		k.publishNamespace(name)
	}
	for _, p := range tx.entered {
		k.settleEntered(&changes, p)
	}
	for _, p := range tx.pods {
		k.settlePod(&changes, p)
	}
	for _, d := range tx.domains {
		if d.sequence.listed {
			k.settleDomain(&changes, d)
		}
	}
	for _, c := range tx.classes {
		k.settleClass(&changes, c)
	}
	k.dropSpentDomains(tx)
	k.publishNoQuestions(tx)
	return changes
}

// advance brings the domain up to its sums and to the time.
func (k *knowledge) advance(d *domain, tx *transaction, changes *Changes) {
	d.evaluate(k, tx)
	d.advance(k.now)
	k.alarms.Set(&d.alarm, d.wake)
	k.askForDomain(d, changes)
	changes.touch(d.sequence.Key)
}

// refreshClasses works out anew what nodes are to equivalence classes.
func (k *knowledge) refreshClasses(tx *transaction) {
	for _, d := range tx.domains {
		if d.sequence.listed && d.isNode() && (d.published.unpublished || d.standing() != d.published.Standing) {
			for c := range d.sequence.classes {
				c.refresh(d.node, k.settled, tx)
			}
		}
	}
	for _, change := range tx.emptyNodes {
		if n := k.nodes[change.node]; change.before != change.sequence.onEmptyNode(n) {
			for c := range change.sequence.classes {
				c.refresh(n, k.settled, tx)
			}
		}
	}
	for _, entry := range tx.refresh {
		entry.class.refresh(entry.node, k.settled, tx)
	}
}

// publishNodes has the nodes read from now on on which sequences have nothing, see emptynode.go.
func (k *knowledge) publishNodes(tx *transaction) {
	for _, name := range tx.nodes {
		if n := k.nodes[name]; n != nil {
			k.published.nodes.Store(name, n)
		} else {
			k.published.nodes.Delete(name)
		}
	}
}

// publishDomains has it read from now on how far domains are.
func (k *knowledge) publishDomains(tx *transaction) {
	for i := range tx.domains {
		d := &tx.domains[i]
		if d.touched = false; d.sequence.listed {
			d.before = d.publish()
			k.endDryRun(d.domain, d.before)
		}
	}
}

// touchPins has pods looked at that ask for a node which has changed.
func (k *knowledge) touchPins(tx *transaction) {
	for i := range tx.domains {
		if d := &tx.domains[i]; d.sequence.listed && d.isNode() && d.published != d.before {
			k.touchPinsTo(d.name, d.sequence, d.before.Standing, d.published.Standing, tx)
		}
	}
	for _, change := range tx.emptyNodes {
		k.touchPinsTo(change.node, change.sequence, change.before, change.sequence.onEmptyNode(k.nodes[change.node]), tx)
	}
	for _, changed := range tx.pins {
		for p := range k.pinned[changed.Pin] {
			if tx.pods = append(tx.pods, p); changed.added {
				p.pin.opened = k.settled
			}
		}
	}
}

// touchPinsTo has the pods looked at that ask for a node where a sequence is now further than before, or less far.
func (k *knowledge) touchPinsTo(node string, s *sequence, before, now placement.Standing, tx *transaction) {
	if before == now || s.DryRun {
		return
	}
	pins := []inventory.Pin{{Node: node}}
	if n := k.nodes[node]; n != nil {
		pins = append(pins, inventory.Pin{Host: n.Hostname()})
	}
	for _, at := range pins {
		for p := range k.pinned[at] {
			for _, m := range p.pin.needs {
				if m.sequence != s {
					continue
				}
				tx.pods = append(tx.pods, p)
				if before.State(m.group) != placement.Open && p.openTo(node) {
					p.pin.opened = k.settled
				}
			}
		}
	}
}

// dropSpentDomains forgets the domains of nodes that say no more than none would.
func (k *knowledge) dropSpentDomains(tx *transaction) {
	for _, d := range tx.domains {
		if d.isNode() && d.isSpent() {
			k.alarms.Set(&d.alarm, time.Time{})
			d.sequence.domainsMu.Lock()
			delete(d.sequence.domains, d.name)
			d.sequence.domainsMu.Unlock()
		}
	}
}

// publishNoQuestions publishes of which namespaces nobody need know more. It comes last: who reads it has read everything else.
func (k *knowledge) publishNoQuestions(tx *transaction) {
	for _, name := range tx.namespaces {
		if k.consents.refused[name] == 0 {
			k.published.refusing.Delete(name)
		}
	}
	if len(k.selectors) == 0 {
		k.published.selectors.Store(false)
	}
}

// empty reports whether nothing counts in the domain.
func (d *domain) empty() bool {
	return !slices.ContainsFunc(d.groupStates, func(state *groupState) bool { return len(state.members) > 0 })
}

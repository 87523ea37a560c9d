package sequence

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/placement"
)

// transaction is one step of the engine: objects are entered one by one, and only then is it seen what that changes.
type transaction struct {
	Question // about everything until this event
	// relisted reports that it is a list, which hides what happened since the last event before it.
	relisted bool
	// domains are those whose sums, nodes or memberships changed.
	domains []*domain
	// classes are those for which a node came, went, or became something else.
	classes []*equivalenceClass
	// refresh are nodes that are to be looked at for an equivalence class when all domains stand where they will stand.
	refresh []classNode
	// placed are the pods whose memberships changed, or that asked too early.
	placed []placedPod
	// emptyNodes are nodes on which nothing of a sequence is and where it may be elsewhere than before.
	emptyNodes []emptyNodeChange
	// pins are pins that may mean another node than before.
	pins []inventory.Pin
	// entered are the pods of which there is a new version.
	entered []enteredPod
	// nodes are the names of those that came, went or changed.
	nodes []string
	// namespaces are those whose sequences changed; a name may be there twice.
	namespaces []string
	// edited are sequences whose waiting pods may wait for something else though no group was passed.
	edited []types.NamespacedName
}

// placedPod is a pod whose right to go is looked at once more when the transaction is settled.
type placedPod struct {
	*pod
	waited bool // it could not go before, or not to all nodes to which it may be scheduled now
	held   bool // it could not go before, which is published
}

// enteredPod is a pod of which there is a new version.
type enteredPod struct {
	*pod
	noted bool // somebody waits for it because of an answer, and that it is released or held is reported already
}

type classNode struct {
	class *equivalenceClass
	node  *node
}

func (tx *transaction) touch(d *domain) {
	if d != nil && !d.touched {
		d.touched = true
		tx.domains = append(tx.domains, d)
	}
}

// touchGroup has the group looked at anew.
func (tx *transaction) touchGroup(d *domain, group int) {
	if d != nil {
		d.groupState(group)
		tx.touch(d)
	}
}

func (tx *transaction) touchClass(c *equivalenceClass) {
	if !c.touched {
		c.touched, c.wasHeld = true, c.nodes.Held()
		tx.classes = append(tx.classes, c)
	}
}

// settle lets sequences go forward and reports what the transaction changed.
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
	// Only now that every domain stands where it will stand: a pod may need the leave of several. Nodes first: what they
	// are to an equivalence class may hold pods that other domains released.
	for _, d := range tx.domains {
		if d.sequence.listed && d.isNode() && (d.published.unpublished || d.standing() != d.published.Standing) {
			for c := range d.sequence.classes {
				c.refresh(d.node, tx)
			}
		}
	}
	for _, move := range tx.emptyNodes {
		if n := e.nodes[move.node]; move.before != move.sequence.onEmptyNode(n) {
			for c := range move.sequence.classes {
				c.refresh(n, tx)
			}
		}
	}
	for _, entry := range tx.refresh {
		entry.class.refresh(entry.node, tx)
	}
	e.publishNodes(tx)
	for _, d := range tx.domains {
		d.touched = false
		if before := d.published; d.sequence.listed {
			d.publish()
			e.settlePods(d, before, &changes)
		}
	}
	for _, move := range tx.emptyNodes {
		e.settlePins(move.sequence, move.node, move.before, move.sequence.onEmptyNode(e.nodes[move.node]), &changes)
	}
	for _, c := range tx.classes {
		e.settleClass(c, &changes)
	}
	for _, pin := range tx.pins {
		for p := range e.pinned[pin] {
			e.release(&changes, p, true)
			e.hold(&changes, p)
		}
	}
	for _, p := range tx.placed {
		e.release(&changes, p.pod, p.waited)
		if !p.held {
			e.hold(&changes, p.pod)
		}
	}
	for _, d := range tx.domains {
		if d.isNode() && d.isSpent() {
			e.alarms.set(&d.alarm, time.Time{})
			d.sequence.domainsMu.Lock()
			delete(d.sequence.domains, d.name)
			d.sequence.domainsMu.Unlock()
		}
	}
	e.publishEntered(tx, &changes)
	return changes
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
	if e.askForDomain(d, changes); doubted && !d.unconfirmed && !d.sequence.PerNode {
		changes.Advanced = append(changes.Advanced, d.sequence.Key) // if it is not passed, what it waits for is known only now
	}
	changes.touch(d.sequence.Key)
}

// settlePods lets the pods go that the domain held and holds no more.
func (e *Engine) settlePods(d *domain, before publishedDomain, changes *Changes) {
	s := d.sequence
	switch {
	case d.isNode():
		if d.published != before {
			e.settlePins(s, d.name, before.Standing, d.published.Standing, changes)
		}
	case !s.PerNode:
		if d.current() != before.Current {
			changes.Advanced = append(changes.Advanced, s.Key)
		}
		if before.unpublished || before.Released == d.released {
			return
		}
		for i := range s.groups {
			switch is, was := d.released.Has(i), before.Released.Has(i); {
			case is && !was:
				for p := range d.peek(i).members {
					e.release(changes, p, true)
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
	if before == now {
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
				case gone, !is && (was || now.Current != before.Current):
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

// prepareClass finds or makes the equivalence class of an unbound pod before the lock is taken: what its requirement is to each node
// may take a while to work out.
func (e *Engine) prepareClass(view *pod) *equivalenceClass {
	ns := e.namespaces[view.Namespace]
	if ns == nil || len(e.perNode) == 0 || view.Wants == nil || view.Terminating {
		return nil
	}
	if p := ns.pods[view.Name]; p != nil && !inventory.Newer(view.ResourceVersion, p.ResourceVersion) {
		return nil
	}
	view.memberships = ns.place(view)
	needs := e.needs(view)
	view.memberships = nil
	if len(needs) == 0 || view.Wants.Pin() != nil {
		return nil
	}
	return e.classFor(view.Wants, needs)
}

func (e *Engine) applyPod(view *pod, prepared *equivalenceClass, tx *transaction) {
	ns := e.namespaceFor(view.Namespace)
	p := ns.pods[view.Name]
	if p != nil && !inventory.Newer(view.ResourceVersion, p.ResourceVersion) {
		return
	}
	if p != nil && !tx.relisted && p.CountsAs(&view.Pod) {
		p.ResourceVersion = view.ResourceVersion
		tx.entered = append(tx.entered, enteredPod{p, false})
		return
	}

	// Another pod of the same name takes the old one's place in one step: in between, the group would look smaller.
	if p == nil {
		p = &pod{}
		ns.pods[view.Name] = p
	}
	unseen := e.unseen.has(view.UID)
	held := p.UID == view.UID && !e.mayBeScheduled(p)
	kept := p.keptFrom()
	replace := p.UID != view.UID || !p.SameMembership(&view.Pod)
	e.touchPod(p, tx)
	e.update(ns, p, view, replace, prepared, tx)
	e.recordProofs(p, tx)
	e.touchPod(p, tx)
	tx.entered = append(tx.entered, enteredPod{p, unseen})
	// A pod that was kept from nodes may have been filtered from all of them. But to let one go that nothing has changed
	// for would have it tried again at every update, its own failures among them.
	waited := unseen || held || (kept != "" && kept != p.keptFrom())
	if replace || waited {
		tx.placed = append(tx.placed, placedPod{p, waited, held && !replace})
	}
}

// mayWait reports whether the pod waits, or may have been filtered from all nodes.
func (e *Engine) mayWait(p *pod) bool { return !e.mayBeScheduled(p) || p.keptFrom() != "" }

// keptFrom is the same for pods that are kept from the same nodes; empty for one that is kept from none.
func (p *pod) keptFrom() string {
	switch {
	case p.class != nil:
		return p.class.key
	case p.pin != nil:
		key := "pin " + p.pin.Node + " " + p.pin.Host
		for _, m := range p.memberships {
			key += fmt.Sprintf("|%p %d", m.sequence, m.group)
		}
		return key
	}
	return ""
}

func (e *Engine) touchPod(p *pod, tx *transaction) {
	for _, m := range p.memberships {
		tx.touch(m.sequence.domainOf(p))
	}
}

func (e *Engine) removePod(namespace, name string, uid types.UID, tx *transaction) {
	e.unseen.take(uid, tx.Version)
	ns := e.namespaces[namespace]
	if ns == nil {
		return
	}
	p := ns.pods[name]
	if p == nil || p.UID != uid {
		return
	}
	delete(ns.pods, name)
	e.unpublish(p)
	if u := e.unconfirmed[namespace]; u != nil {
		delete(u.pods, p)
	}
	e.touchPod(p, tx)
	e.withdraw(p, tx)
	p.memberships = nil
	e.forgetIfEmpty(namespace, ns)
}

// recordProofs draws the conclusions from the proof on a pod: the groups before its own had been passed.
func (e *Engine) recordProofs(p *pod, tx *transaction) {
	for _, m := range p.memberships {
		s := m.sequence
		group, ok := p.provenGroup(s)
		if !ok {
			continue
		}
		s.domainOf(p).recordProof(group)
		s.noteFirstReleased(tx)
	}
}

package sequence

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
)

// batch is one step of the engine: objects are entered one by one, and only then is it seen what that changes.
type batch struct {
	Question // about everything until this event
	// relisted tells that it is a list, which hides what happened since the last event before it.
	relisted bool
	// lanes are those whose sums, nodes or memberships changed.
	lanes []*lane
	// classes are those for which a node came, went, or became something else.
	classes []*class
	// refresh are nodes that are to be looked at for a class when all lanes stand where they will stand.
	refresh []classNode
	// placed are the pods whose memberships changed, or that asked too early.
	placed []placedPod
	// blanks are nodes on which nothing of a sequence is and where it may be elsewhere than before.
	blanks []blankMove
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

// placedPod is a pod whose right to go is looked at once more when the batch is settled.
type placedPod struct {
	*pod
	waited bool // it could not go before, or not to all nodes to which it may go now
	held   bool // it could not go before, which has been told
}

// enteredPod is a pod of which there is a new version.
type enteredPod struct {
	*pod
	noted bool // somebody was told to wait for it, and that it is released or held is reported already
}

type classNode struct {
	class *class
	node  *node
}

func (b *batch) touch(l *lane) {
	if l != nil && !l.touched {
		l.touched = true
		b.lanes = append(b.lanes, l)
	}
}

// touchGroup has the group looked at anew.
func (b *batch) touchGroup(l *lane, group int) {
	if l != nil {
		l.tally(group)
		b.touch(l)
	}
}

func (b *batch) touchClass(c *class) {
	if !c.touched {
		c.touched, c.wasHeld = true, c.held()
		b.classes = append(b.classes, c)
	}
}

// settle lets sequences go forward and reports what the batch changed.
func (e *Engine) settle(b *batch) Changes {
	changes := Changes{}
	for _, key := range b.edited {
		changes.touch(key)
		changes.Advanced = append(changes.Advanced, key)
	}
	for _, l := range b.lanes {
		if l.sequence.listed {
			e.settleLane(l, b, &changes)
		}
	}
	// Only now that every lane stands where it will stand: a pod may need the leave of several. Nodes first: what they
	// are to a class may hold pods that other lanes let go.
	for _, l := range b.lanes {
		if l.sequence.listed && l.isNode() && l.now() != l.told {
			for c := range l.sequence.classes {
				c.refresh(l.node, b)
			}
		}
	}
	for _, move := range b.blanks {
		if n := e.nodes[move.node]; move.before != move.sequence.tellBlank(n) {
			for c := range move.sequence.classes {
				c.refresh(n, b)
			}
		}
	}
	for _, entry := range b.refresh {
		entry.class.refresh(entry.node, b)
	}
	e.publishNodes(b)
	for _, l := range b.lanes {
		l.touched = false
		if before := l.told; l.sequence.listed {
			l.publish()
			e.settlePods(l, before, &changes)
		}
	}
	for _, move := range b.blanks {
		e.settlePins(move.sequence, move.node, move.before, move.sequence.tellBlank(e.nodes[move.node]), &changes)
	}
	for _, c := range b.classes {
		e.settleClass(c, &changes)
	}
	for _, pin := range b.pins {
		for p := range e.pinned[pin] {
			e.release(&changes, p, true)
			e.hold(&changes, p)
		}
	}
	for _, p := range b.placed {
		e.release(&changes, p.pod, p.waited)
		if !p.held {
			e.hold(&changes, p.pod)
		}
	}
	for _, l := range b.lanes {
		if l.isNode() && l.isSpent() {
			e.alarms.set(&l.alarm, time.Time{})
			l.sequence.lanesMu.Lock()
			delete(l.sequence.lanes, l.name)
			l.sequence.lanesMu.Unlock()
		}
	}
	e.publishEntered(b, &changes)
	return changes
}

// publishEntered publishes what the events brought. Who asked about a pod before it was published has left a note.
func (e *Engine) publishEntered(b *batch, changes *Changes) {
	for _, name := range b.namespaces {
		e.publishNamespace(name)
	}
	for _, p := range b.entered {
		e.publish(p.pod)
		if e.unseen.take(p.UID, p.ResourceVersion) && !p.noted {
			e.release(changes, p.pod, true)
			e.hold(changes, p.pod)
		}
	}
	for _, name := range b.namespaces {
		if e.consents.refused[name] == 0 {
			e.published.refusing.Delete(name) // last: who reads this reads what is published above, too
		}
	}
}

// publishNodes has the nodes read from now on on which sequences have nothing, see blank.go.
func (e *Engine) publishNodes(b *batch) {
	for _, name := range b.nodes {
		if n := e.nodes[name]; n != nil {
			e.published.nodes.Store(name, n)
		} else {
			e.published.nodes.Delete(name)
		}
	}
}

// settleLane brings the lane up to its sums and to the time.
func (e *Engine) settleLane(l *lane, b *batch, changes *Changes) {
	doubted := l.doubted
	l.evaluate(e, b)
	l.advance(e.now)
	e.alarms.set(&l.alarm, l.wake)
	if e.doubtLane(l, changes); doubted && !l.doubted && !l.sequence.PerNode {
		changes.Advanced = append(changes.Advanced, l.sequence.Key) // if it is not passed, what it waits for is known only now
	}
	changes.touch(l.sequence.Key)
}

// settlePods lets the pods go that the lane held and holds no more.
func (e *Engine) settlePods(l *lane, before told, changes *Changes) {
	s := l.sequence
	switch {
	case l.isNode():
		if l.told != before {
			e.settlePins(s, l.name, before, l.told, changes)
		}
	case !s.PerNode:
		if l.current != before.current {
			changes.Advanced = append(changes.Advanced, s.Key)
		}
		if before.released == unheard {
			return
		}
		for i := before.released; i < min(l.released, len(s.groups)); i++ {
			for p := range l.peek(i).members {
				e.release(changes, p, true)
			}
		}
		for i := l.released; i < min(before.released, len(s.groups)); i++ {
			for p := range l.peek(i).members {
				e.hold(changes, p)
			}
		}
	}
}

// settlePins lets the pods go that are pinned to a node that has opened, and holds those pinned to one that has closed, or
// where they wait for another group than before.
func (e *Engine) settlePins(s *sequence, node string, before, now told, changes *Changes) {
	if before == now {
		return
	}
	gone := before.known && !now.known
	pins := []inventory.Pin{{Node: node}}
	if n := e.nodes[node]; n != nil {
		pins = append(pins, inventory.Pin{Host: n.Hostname()})
	}
	for _, pin := range pins {
		for p := range e.pinned[pin] {
			for _, m := range p.memberships {
				switch {
				case m.sequence != s:
				case m.group < now.released && (m.group >= before.released || !before.known):
					e.release(changes, p, true)
				case gone, m.group >= now.released && (m.group < before.released || now.current != before.current):
					e.hold(changes, p)
				}
			}
		}
	}
}

// empty tells whether nothing counts in the lane.
func (l *lane) empty() bool {
	return !slices.ContainsFunc(l.tallies, func(t *tally) bool { return len(t.members) > 0 })
}

// settleClass lets the pods of a class go when a node has opened for them, or when there is nothing left to wait for.
func (e *Engine) settleClass(c *class, changes *Changes) {
	held := c.held()
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

// prepareClass finds or makes the class of an unbound pod before the lock is taken: what its requirement is to each node
// may take a while to work out.
func (e *Engine) prepareClass(view *pod) *class {
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

func (e *Engine) applyPod(view *pod, prepared *class, b *batch) {
	ns := e.namespaceFor(view.Namespace)
	p := ns.pods[view.Name]
	if p != nil && !inventory.Newer(view.ResourceVersion, p.ResourceVersion) {
		return
	}
	if p != nil && !b.relisted && p.CountsAs(&view.Pod) {
		p.ResourceVersion = view.ResourceVersion
		b.entered = append(b.entered, enteredPod{p, false})
		return
	}

	// Another pod of the same name takes the old one's place in one step: in between, the group would look smaller.
	if p == nil {
		p = &pod{}
		ns.pods[view.Name] = p
	}
	unseen := e.unseen.has(view.UID)
	held := p.UID == view.UID && !e.mayGo(p)
	kept := p.keptFrom()
	replace := p.UID != view.UID || !p.SameMembership(&view.Pod)
	e.touchPod(p, b)
	e.update(ns, p, view, replace, prepared, b)
	e.testify(p, b)
	e.touchPod(p, b)
	b.entered = append(b.entered, enteredPod{p, unseen})
	// A pod that was kept from nodes may have been filtered from all of them. But to let one go that nothing has changed
	// for would have it tried again at every update, its own failures among them.
	waited := unseen || held || (kept != "" && kept != p.keptFrom())
	if replace || waited {
		b.placed = append(b.placed, placedPod{p, waited, held && !replace})
	}
}

// mayWait tells whether the pod waits, or may have been filtered from all nodes.
func (e *Engine) mayWait(p *pod) bool { return !e.mayGo(p) || p.keptFrom() != "" }

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

func (e *Engine) touchPod(p *pod, b *batch) {
	for _, m := range p.memberships {
		b.touch(m.sequence.laneOf(p))
	}
}

func (e *Engine) removePod(namespace, name string, uid types.UID, b *batch) {
	e.unseen.take(uid, b.Version)
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
	if d := e.doubts[namespace]; d != nil {
		delete(d.pods, p)
	}
	e.touchPod(p, b)
	e.withdraw(p, b)
	p.memberships = nil
	e.forgetIfEmpty(namespace, ns)
}

// testify draws the conclusions from the proof on a pod: the groups before its own had been passed.
func (e *Engine) testify(p *pod, b *batch) {
	for _, m := range p.memberships {
		s := m.sequence
		group, ok := p.provenGroup(s)
		if !ok {
			continue
		}
		s.laneOf(p).prove(group)
		s.begin(b)
	}
}

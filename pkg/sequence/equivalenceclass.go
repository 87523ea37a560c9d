package sequence

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/placement"
)

// nodeNeeds returns what keeps the pod from some nodes; nil if nothing does.
func (p *pod) nodeNeeds() *nodeNeeds {
	switch {
	case p.class != nil:
		return &p.class.nodeNeeds
	case p.pin != nil:
		return &p.pin.nodeNeeds
	}
	return nil
}

// verdict returns what the engine says of the pods of the equivalence class now.
func (c *equivalenceClass) verdict() classVerdict {
	v := classVerdict{held: c.nodes.Hold(true), opened: c.opened}
	if v.held {
		v.autoscaled = c.autoscaled > 0
		if i := slices.IndexFunc(c.needs, c.waitsFor); i >= 0 {
			v.by = c.needs[i].sequence
		}
	}
	return v
}

func (c *equivalenceClass) stateOn(n *node) placement.State {
	state := placement.Open
	for _, m := range c.needs {
		state = min(state, m.sequence.stateOn(n.Name, m.group))
	}
	if c.lacksDevices(n) {
		if state == placement.Open {
			return placement.LackingOpen
		}
		return placement.Lacking
	}
	return state
}

// waitsFor reports whether the pods wait for this sequence, and not only for another one: on some node that is on the way. Which
// node that is depends on the order of events, so it must not matter.
func (c *equivalenceClass) waitsFor(m membership) bool {
	switch i := slices.Index(c.needs, m); {
	case i < 0:
		return false
	case c.closedBy == nil:
		return c.nodes.OnTheWay > 0
	default:
		return c.closedBy[i].Len() > 0
	}
}

// noteClosedBy notes which of the sequences keep the pods from a node that is on the way. All nodes are never looked at: every pod
// that is judged asks for the answer.
func (c *equivalenceClass) noteClosedBy(n *node) {
	if len(c.needs) < 2 {
		return
	}
	if c.closedBy == nil {
		c.closedBy = make([]placement.SlotCount, len(c.needs))
	}
	onTheWay := c.nodes.At(n.slot) == placement.OnTheWay
	for i, m := range c.needs {
		c.closedBy[i].Set(n.slot, onTheWay && m.sequence.stateOn(n.Name, m.group) != placement.Open)
	}
}

// refresh works out anew what the node is to the equivalence class.
func (c *equivalenceClass) refresh(n *node, tx *transaction) {
	if n == nil || c.nodes.At(n.slot) == placement.Unsuitable {
		return
	}
	tx.markClassDirty(c)
	if now := c.stateOn(n); now != c.nodes.At(n.slot) {
		if now == placement.Open || now == placement.LackingOpen {
			c.opened = tx.number
		}
		c.set(n, now)
	}
	c.noteClosedBy(n)
}

func (r *requirements) all() iter.Seq[*requirement] { return maps.Values(r.byKey) }

// classFor finds the equivalence class of pods with these wants and needs, or makes it. It only reads what the engine has: an equivalence
// class that is new must be added.
func (all *unplaced) classFor(wants *inventory.NodeRequirement, needs []membership) *equivalenceClass {
	requirementKey := wants.Key()
	key := strings.Builder{}
	key.WriteString(requirementKey)
	key.WriteString(wants.Requests.Key())
	for _, m := range needs {
		fmt.Fprintf(&key, "|%p %d", m.sequence, m.group)
	}
	if c := all.requirements.classes[key.String()]; c != nil {
		return c
	}
	c := &equivalenceClass{
		nodeNeeds: nodeNeeds{needs: needs}, key: key.String(), requirementKey: requirementKey,
		requirement: all.requirements.byKey[requirementKey],
		requests:    wants.Requests, devices: placement.DevicesIn(wants.Requests),
		queue: newClassQueue(), nodes: placement.NewNodes(len(all.slots)),
	}
	if c.requirement == nil {
		c.requirement = &requirement{Requirement: placement.NewRequirement(wants), classes: map[*equivalenceClass]struct{}{}}
		for _, n := range all.byName {
			if c.requirement.Suits(&n.Node) {
				c.requirement.suitable.Add(n.slot)
			}
		}
	}
	for _, n := range all.byName {
		if c.requirement.suitable.Has(n.slot) {
			c.set(n, c.stateOn(n))
		}
	}
	return c
}

// match sees whether a node that is new or has changed suits the requirement.
func (r *requirement) match(n *node, tx *transaction) {
	before := r.suitable.Has(n.slot)
	switch after := r.Suits(&n.Node); {
	case after && !before:
		r.suitable.Add(n.slot)
		for c := range r.classes {
			tx.markClassDirty(c)
			c.set(n, placement.Closed)
			tx.refresh = append(tx.refresh, classNode{c, n})
		}
	case before && !after:
		r.unmatch(n, tx)
	}
}

func (r *requirement) unmatch(n *node, tx *transaction) {
	r.suitable.Remove(n.slot)
	for c := range r.classes {
		if c.nodes.At(n.slot) != placement.Unsuitable {
			tx.markClassDirty(c)
			c.set(n, placement.Unsuitable)
		}
	}
}

// classify gives an unbound pod its equivalence class or its pin, or leaves it the one that it has. prepared may be the
// equivalence class, made without the lock.
func (all *unplaced) classify(p *pod, needs []membership, prepared *equivalenceClass) {
	if len(needs) == 0 {
		all.declassify(p)
		return
	}
	if at := p.Wants().Pin(); at != nil {
		if p.pin == nil || p.pin.Pin != *at || !slices.Equal(p.pin.needs, needs) || !p.pin.requests.Equal(p.Wants().Requests) {
			all.declassify(p)
			p.pin = &pin{Pin: *at, nodeNeeds: nodeNeeds{needs: needs}, requests: p.Wants().Requests}
			insert(all.pinned, *at, p)
			all.reserve(p.pin, +1)
		}
		return
	}
	c := prepared
	if c == nil {
		c = all.classFor(p.Wants(), needs)
	}
	if c == p.class {
		return
	}
	all.useClass(c)
	all.declassify(p)
	p.class = c
	c.queue.push(p, c.room)
	all.divide(c)
}

func (all *unplaced) declassify(p *pod) {
	if p.pin != nil {
		remove(all.pinned, p.pin.Pin, p)
		all.reserve(p.pin, -1)
		p.pin = nil
	}
	c := p.class
	if c == nil {
		return
	}
	p.class = nil
	if c.queue.remove(p); c.queue.len() > 0 {
		all.divide(c)
		return
	}
	if all.idle = append(all.idle, c); len(all.idle) > mostIdleClasses {
		all.removeClass(all.idle[0])
	}
}

// mostIdleClasses is how many equivalence classes are kept that have no pods any more. To make one looks at all nodes, and the next pod of a
// rollout often comes when the one before it has been bound.
const mostIdleClasses = 32

// useClass makes a class known that is to get a pod, unless it is.
func (all *unplaced) useClass(c *equivalenceClass) {
	if all.requirements.classes[c.key] != c {
		all.addClass(c)
	} else if c.queue.len() == 0 {
		all.idle = slices.DeleteFunc(all.idle, func(idle *equivalenceClass) bool { return idle == c })
	}
}

// removeClasses removes the classes of a sequence that has no members any more.
func (all *unplaced) removeClasses(s *sequence) {
	for c := range s.classes {
		all.removeClass(c)
	}
}

// removeClass removes a class that has no pods.
func (all *unplaced) removeClass(c *equivalenceClass) {
	all.idle = slices.DeleteFunc(all.idle, func(idle *equivalenceClass) bool { return idle == c })
	delete(all.requirements.classes, c.key)
	if delete(c.requirement.classes, c); len(c.requirement.classes) == 0 {
		delete(all.requirements.byKey, c.requirementKey)
	}
	for _, m := range c.needs {
		delete(m.sequence.classes, c)
	}
}

func (all *unplaced) addClass(c *equivalenceClass) {
	c.published = c.verdict()
	all.requirements.classes[c.key] = c
	all.requirements.byKey[c.requirementKey] = c.requirement
	c.requirement.classes[c] = struct{}{}
	for _, m := range c.needs {
		m.sequence.classes[c] = struct{}{}
	}
}

// refreshClasses works out anew what nodes are to equivalence classes.
func (all *unplaced) refreshClasses(tx *transaction) {
	for _, d := range tx.dirtyDomains {
		if d.sequence.registered && d.isNode() && (d.published.unpublished || d.standing() != d.published.Standing) {
			for c := range d.sequence.classes {
				c.refresh(d.node, tx)
			}
		}
	}
	for _, change := range tx.emptyNodes {
		if n := all.byName[change.node]; change.before != change.sequence.onEmptyNode(n) {
			for c := range change.sequence.classes {
				c.refresh(n, tx)
			}
		}
	}
	for _, entry := range tx.refresh {
		entry.class.refresh(entry.node, tx)
	}
	all.settleRoom(tx)
}

// set enters what a node is to the equivalence class.
func (c *equivalenceClass) set(n *node, state placement.State) {
	if c.nodes.At(n.slot) == placement.OnTheWay {
		c.room -= c.roomOn(n)
		c.countAutoscaled(n, -1)
	}
	if c.nodes.Set(n.slot, state); state == placement.OnTheWay {
		c.room += c.roomOn(n)
		c.countAutoscaled(n, +1)
	}
	c.noteClosedBy(n)
}

package sequence

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
)

// node is a node, and what it is to the engine.
type node struct {
	inventory.Node
	slot     int       // its place in nodes.slots
	seenAt   time.Time // when the engine came to know it
	listedAt uint64    // the engine's moment then
}

// nodes are all nodes, and who wants to go to which.
type nodes struct {
	byName map[string]*node
	slots  []*node                        // each has a place of its own while it is there
	hosts  map[string]map[string]struct{} // names of nodes by host name

	requirements requirements
	pinned       map[inventory.Pin]map[*pod]struct{}
}

func newNodes() nodes {
	return nodes{
		byName:       map[string]*node{},
		hosts:        map[string]map[string]struct{}{},
		requirements: requirements{byKey: map[string]*requirement{}, classes: map[string]*equivalenceClass{}},
		pinned:       map[inventory.Pin]map[*pod]struct{}{},
	}
}

// replaceNodes enters all nodes that there are.
func (k *knowledge) replaceNodes(objects []*corev1.Node, tx *transaction) {
	present := make(map[string]struct{}, len(objects))
	for _, object := range objects {
		present[object.Name] = struct{}{}
		k.applyNode(object, tx)
	}
	for name := range k.nodes.byName {
		if _, ok := present[name]; !ok {
			k.removeNode(name, tx)
		}
	}
}

func (k *knowledge) applyNode(object *corev1.Node, tx *transaction) {
	view, old := &node{Node: inventory.ViewNode(object)}, k.nodes.byName[object.Name]
	if old != nil {
		if !inventory.Newer(view.ResourceVersion, old.ResourceVersion) {
			return
		}
		if old.Same(&view.Node) {
			old.ResourceVersion = view.ResourceVersion
			return
		}
		k.nodes.unlistHost(old)
		tx.pins = append(tx.pins, changedPin{Pin: inventory.Pin{Host: old.Hostname()}})
	}
	if view.seenAt, view.listedAt = k.now.Truncate(time.Second), k.questions.moment.Load(); old != nil && old.Object.UID == view.Object.UID {
		view.seenAt, view.listedAt = old.seenAt, old.listedAt
	}
	k.nodes.enter(view, old)
	tx.nodes = append(tx.nodes, view.Name)
	insert(k.nodes.hosts, view.Hostname(), view.Name)
	due := map[*sequence][]int{}
	k.enterDue(view, due)
	for s := range k.perNode {
		d := s.domains[view.Name]
		if _, isDue := due[s]; d == nil && !isDue && !s.Eager && s.nodeRecords[view.Name] == nil {
			tx.touchEmptyNode(s, view.Name, old)
			continue
		}
		switch {
		case d == nil:
			d = s.newDomain(view.Name, old)
		case d.node == nil || d.node.Object.UID != view.Object.UID:
			d.reset()
		}
		d.setNode(view)
		if record := s.nodeRecords[view.Name]; record != nil {
			d.recall(record)
		}
		tx.touch(d)
		for _, group := range due[s] {
			d.groupState(group)
		}
	}
	for r := range k.nodes.requirements.all() {
		r.match(view, tx)
	}
	tx.pins = append(tx.pins, changedPin{Pin: inventory.Pin{Host: view.Hostname()}, added: old == nil || old.Hostname() != view.Hostname()})
}

func (k *knowledge) removeNode(name string, tx *transaction) {
	n := k.nodes.byName[name]
	if n == nil {
		return
	}
	delete(k.nodes.byName, name)
	tx.nodes = append(tx.nodes, name)
	k.nodes.unlistHost(n)
	tx.pins = append(tx.pins, changedPin{Pin: inventory.Pin{Host: n.Hostname()}})
	for w := range k.workloads.daemons {
		w.setDue(name, false)
	}
	for r := range k.nodes.requirements.all() {
		r.unmatch(n, tx)
	}
	k.nodes.slots[n.slot] = nil
	for s := range k.perNode {
		d := s.domains[name]
		if d == nil {
			tx.touchEmptyNode(s, name, n)
			continue
		}
		d.setNode(nil)
		tx.touch(d)
	}
}

// enter gives the node the slot of its earlier version, or any that is free.
func (all *nodes) enter(n, before *node) {
	all.byName[n.Name] = n
	if before != nil {
		n.slot = before.slot
	} else if n.slot = len(all.slots); len(all.byName) <= len(all.slots) {
		n.slot = slices.Index(all.slots, nil)
	} else {
		all.slots = append(all.slots, nil)
	}
	all.slots[n.slot] = n
}

// setNode makes the node that of the domain, or none. Which members count as done may depend on when it was created.
func (d *domain) setNode(n *node) {
	d.node = n
	for _, state := range d.groupStates {
		state.dirty, state.sums = true, readiness.Members{}
		for p := range state.members {
			state.sums.Add(readiness.OnNode(&p.Pod, d.sequence.groups[state.group].Required, d.nodeCreatedAt()), +1)
		}
	}
}

func (all *nodes) unlistHost(n *node) { remove(all.hosts, n.Hostname(), n.Name) }

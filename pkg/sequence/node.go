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
	slot     int       // its place in Engine.slots
	seenAt   time.Time // when the engine came to know it
	listedAt uint64    // the engine's moment then
}

// replaceNodes enters all nodes that there are.
func (k *knowledge) replaceNodes(objects []*corev1.Node, tx *transaction) {
	present := make(map[string]struct{}, len(objects))
	for _, object := range objects {
		present[object.Name] = struct{}{}
		k.applyNode(object, tx)
	}
	for name := range k.nodes {
		if _, ok := present[name]; !ok {
			k.removeNode(name, tx)
		}
	}
}

func (k *knowledge) applyNode(object *corev1.Node, tx *transaction) {
	view, old := &node{Node: inventory.ViewNode(object)}, k.nodes[object.Name]
	if old != nil {
		if !inventory.Newer(view.ResourceVersion, old.ResourceVersion) {
			return
		}
		if old.Same(&view.Node) {
			old.ResourceVersion = view.ResourceVersion
			return
		}
		k.unlistHost(old)
		tx.pins = append(tx.pins, changedPin{Pin: inventory.Pin{Host: old.Hostname()}})
	}
	if view.seenAt, view.listedAt = k.now.Truncate(time.Second), k.moment.Load(); old != nil && old.Object.UID == view.Object.UID {
		view.seenAt, view.listedAt = old.seenAt, old.listedAt
	}
	k.enterNode(view, old)
	tx.nodes = append(tx.nodes, view.Name)
	insert(k.hosts, view.Hostname(), view.Name)
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
	for r := range k.requirements.all() {
		k.matchNode(r, view, tx)
	}
	tx.pins = append(tx.pins, changedPin{Pin: inventory.Pin{Host: view.Hostname()}, added: old == nil || old.Hostname() != view.Hostname()})
}

// enterDue works out which DaemonSets should run on a node that is new or has changed. due gets their groups.
func (k *knowledge) enterDue(view *node, due map[*sequence][]int) {
	for w := range k.daemons {
		runs := readiness.IsDueOn(&w.Workload, &view.Node)
		if w.setDue(view.Name, runs); !runs {
			continue
		}
		for s, demand := range w.demands {
			if s.PerNode {
				due[s] = append(due[s], demand.group)
			}
		}
	}
}

func (k *knowledge) removeNode(name string, tx *transaction) {
	n := k.nodes[name]
	if n == nil {
		return
	}
	delete(k.nodes, name)
	tx.nodes = append(tx.nodes, name)
	k.unlistHost(n)
	tx.pins = append(tx.pins, changedPin{Pin: inventory.Pin{Host: n.Hostname()}})
	for w := range k.daemons {
		w.setDue(name, false)
	}
	for r := range k.requirements.all() {
		k.unmatchNode(r, n, tx)
	}
	k.slots[n.slot] = nil
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

// enterNode gives the node the slot of its earlier version, or any that is free.
func (k *knowledge) enterNode(n, before *node) {
	k.nodes[n.Name] = n
	if before != nil {
		n.slot = before.slot
	} else if n.slot = len(k.slots); len(k.nodes) <= len(k.slots) {
		n.slot = slices.Index(k.slots, nil)
	} else {
		k.slots = append(k.slots, nil)
	}
	k.slots[n.slot] = n
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

func (k *knowledge) unlistHost(n *node) { remove(k.hosts, n.Hostname(), n.Name) }

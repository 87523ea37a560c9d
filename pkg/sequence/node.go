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

// ApplyNode tells the engine of a node that was added or changed. A version older than the one it has is ignored.
func (e *Engine) ApplyNode(object *corev1.Node) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()

	tx := e.at(object.ResourceVersion)
	e.applyNode(object, tx)
	return e.settle(tx)
}

// RemoveNode tells the engine that a node is gone.
func (e *Engine) RemoveNode(name string) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()

	tx := transaction{}
	e.removeNode(name, &tx)
	return e.settle(&tx)
}

// ReplaceNodes tells the engine of all nodes there are at a version, in one step.
func (e *Engine) ReplaceNodes(objects []*corev1.Node, version string) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()

	tx := e.relistedAt(version)
	present := make(map[string]struct{}, len(objects))
	for _, object := range objects {
		present[object.Name] = struct{}{}
		e.applyNode(object, tx)
	}
	for name := range e.nodes {
		if _, ok := present[name]; !ok {
			e.removeNode(name, tx)
		}
	}
	return e.settle(tx)
}

func (e *Engine) applyNode(object *corev1.Node, tx *transaction) {
	view, old := &node{Node: inventory.ViewNode(object)}, e.nodes[object.Name]
	if old != nil {
		if !inventory.Newer(view.ResourceVersion, old.ResourceVersion) {
			return
		}
		if old.Same(&view.Node) {
			old.ResourceVersion = view.ResourceVersion
			return
		}
		e.unlistHost(old)
		tx.pins = append(tx.pins, changedPin{Pin: inventory.Pin{Host: old.Hostname()}})
	}
	if view.seenAt, view.listedAt = e.now.Truncate(time.Second), e.moment.Load(); old != nil && old.Object.UID == view.Object.UID {
		view.seenAt, view.listedAt = old.seenAt, old.listedAt
	}
	e.enterNode(view, old)
	tx.nodes = append(tx.nodes, view.Name)
	insert(e.hosts, view.Hostname(), view.Name)
	due := map[*sequence][]int{}
	e.enterDue(view, due)
	for s := range e.perNode {
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
		tx.touch(d)
		for _, group := range due[s] {
			d.groupState(group)
		}
	}
	for r := range e.requirements.all() {
		e.matchNode(r, view, tx)
	}
	tx.pins = append(tx.pins, changedPin{Pin: inventory.Pin{Host: view.Hostname()}, added: old == nil || old.Hostname() != view.Hostname()})
}

// enterDue works out which DaemonSets should run on a node that is new or has changed. due gets their groups.
func (e *Engine) enterDue(view *node, due map[*sequence][]int) {
	for w := range e.daemons {
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

func (e *Engine) removeNode(name string, tx *transaction) {
	n := e.nodes[name]
	if n == nil {
		return
	}
	delete(e.nodes, name)
	tx.nodes = append(tx.nodes, name)
	e.unlistHost(n)
	tx.pins = append(tx.pins, changedPin{Pin: inventory.Pin{Host: n.Hostname()}})
	for w := range e.daemons {
		w.setDue(name, false)
	}
	for r := range e.requirements.all() {
		e.unmatchNode(r, n, tx)
	}
	e.slots[n.slot] = nil
	for s := range e.perNode {
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
func (e *Engine) enterNode(n, before *node) {
	e.nodes[n.Name] = n
	if before != nil {
		n.slot = before.slot
	} else if n.slot = len(e.slots); len(e.nodes) <= len(e.slots) {
		n.slot = slices.Index(e.slots, nil)
	} else {
		e.slots = append(e.slots, nil)
	}
	e.slots[n.slot] = n
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

func (e *Engine) unlistHost(n *node) { remove(e.hosts, n.Hostname(), n.Name) }

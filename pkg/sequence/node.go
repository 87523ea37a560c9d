package sequence

import (
	"slices"
	"time"

	"example.com/podsequence/pkg/sequence/inventory"
)

// node is a node, and what it is to the engine.
type node struct {
	inventory.Node
	slot       int       // its place in nodes.slots
	seenAt     time.Time // when the engine came to know it
	seenMoment uint64    // the engine's moment then
	// taken is what pods that are bound there or pinned to it request, see room.go.
	taken inventory.Resources
}

// nodes are all nodes, and who wants to go to which.
type nodes struct {
	byName map[string]*node
	slots  []*node                        // each has a place of its own while it is there
	hosts  map[string]map[string]struct{} // names of nodes by host name

	requirements requirements
	pinned       map[inventory.Pin]map[*pod]struct{}

	used     map[string]inventory.Resources // by name, also of nodes that are not known yet, see Engine.ApplyNodeUse
	reserved map[string]inventory.Resources // the same of what pods request that are pinned there by name

	// What changed in this transaction: the names of nodes of which more or less is taken, and pods that are within the room of
	// their equivalence class now and were not, or the other way round.
	usageChanged []string
	moved        []*pod
}

func newNodes() nodes {
	return nodes{
		byName:       map[string]*node{},
		hosts:        map[string]map[string]struct{}{},
		requirements: requirements{byKey: map[string]*requirement{}, classes: map[string]*equivalenceClass{}},
		pinned:       map[inventory.Pin]map[*pod]struct{}{},
		used:         map[string]inventory.Resources{},
		reserved:     map[string]inventory.Resources{},
	}
}

// enter gives the node the slot of its earlier version, or any that is free.
func (all *nodes) enter(n, before *node) {
	all.byName[n.Name] = n
	n.taken = all.takenOn(n.Name)
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
func (d *domain) setNode(n *node, tx *transaction) {
	d.node = n
	for _, state := range d.groupStates {
		state.dirty = true
		for p := range state.members {
			tx.mark(member{p, d, state.group})
		}
	}
}

func (all *nodes) removeHost(n *node) { remove(all.hosts, n.Hostname(), n.Name) }

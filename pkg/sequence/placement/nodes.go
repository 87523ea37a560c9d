package placement

import (
	"iter"

	"example.com/podsequence/pkg/sequence/hold"
)

// Nodes are what each node is to pods that may use exactly the same nodes. Nodes go by slots: small numbers, each that of one
// node while it is there. Whoever makes many pods that all tolerate something else pays a byte for each of them and each node.
type Nodes struct {
	states []State
	// Suitable, Open and OnTheWay count the nodes. Lacking counts those that would be suitable if they did not lack devices.
	Suitable, Open, OnTheWay, Lacking int
}

// NewNodes returns the states of so many slots, none of which has a suitable node yet.
func NewNodes(slots int) Nodes { return Nodes{states: make([]State, slots)} }

// Hold reports whether one of the pods must wait. room reports whether it fits on the nodes that are on the way.
func (n *Nodes) Hold(room bool) bool {
	return hold.Nodes{Open: n.Open > 0, OnTheWay: n.OnTheWay > 0, Room: room}.Hold()
}

// At returns what the node with this slot is to the pods.
func (n *Nodes) At(slot int) State {
	if slot >= len(n.states) {
		return Unsuitable
	}
	return n.states[slot]
}

// Set enters what the node with this slot is to the pods.
func (n *Nodes) Set(slot int, state State) {
	if more := slot + 1 - len(n.states); more > 0 {
		n.states = append(n.states, make([]State, more)...)
	}
	n.count(n.states[slot], -1)
	n.states[slot] = state
	n.count(state, +1)
}

func (n *Nodes) count(state State, sign int) {
	switch state {
	case Unsuitable:
		return
	case Lacking, LackingOpen:
		n.Lacking += sign
		return
	case Open:
		n.Open += sign
	case OnTheWay:
		n.OnTheWay += sign
	}
	n.Suitable += sign
}

// In returns the slots of the nodes in this state.
func (n *Nodes) In(state State) iter.Seq[int] {
	return func(yield func(int) bool) {
		for slot, at := range n.states {
			if at == state && !yield(slot) {
				return
			}
		}
	}
}

package hold

// Facts are what decides whether a sequence holds a pod.
type Facts struct {
	// DryRun, Suspended, PerNode and Continuous are as of the sequence, see order.Sequence.
	DryRun, Suspended, PerNode, Continuous bool
	// Waits reports that the pod's group waits for other groups.
	Waits bool
	// Released reports that the sequence has released the group. It matters in scope Cluster only: in scope Node every node has groups
	// released of its own.
	Released bool

	// What follows matters in scope Node only.

	// Ours reports that our scheduler places the pod.
	Ours bool
	// Gated reports that the pod carries a gate that the sequence lifts.
	Gated bool
	// Placed reports that the pod has a node, or needs none because it is being deleted.
	Placed bool
	// Blind reports that nodes are not visible.
	Blind bool
}

// Rule says what decides how long a sequence holds a pod.
type Rule uint8

const (
	// Free is a pod that the sequence keeps from no node.
	Free Rule = iota
	// ByGroup is a pod that the sequence holds until it releases the pod's group.
	ByGroup
	// ByNode is a pod that the sequence keeps from the nodes on which it has not released the pod's group. It must wait while that is the one
	// node that it asks for; any other pod is tried.
	ByNode
	// Unsupported is a pod that keeps its gate: its scheduler does not know on which nodes the sequence has released its group.
	Unsupported
)

// Rule returns what decides how long the sequence holds the pod.
func (f Facts) Rule() Rule {
	switch {
	case f.DryRun:
		return Free
	case !f.PerNode && f.Released:
		return Free
	case !f.PerNode:
		return ByGroup
	case f.Gated && (f.Blind || !f.Ours):
		return Unsupported
	case f.waitsForNothing(), f.Placed, !f.Ours:
		return Free
	}
	return ByNode
}

// waitsForNothing reports whether the pod's group waits for no group and for no end of a suspension.
func (f Facts) waitsForNothing() bool { return !f.Waits && !f.Suspended }

// IsRevocable reports whether the sequence may hold the pod again after it released the pod's group, because a group before breaks.
func (f Facts) IsRevocable() bool { return !f.DryRun && f.Waits && (f.PerNode || f.Continuous) }

package hold

// Nodes are what nodes are to a pod that sequences keep from some of them: those that suit the pod, or the one that it asks for.
type Nodes struct {
	// Pinned reports that the pod asks for one node.
	Pinned bool
	// Open reports that the pod may be scheduled to some node. OnTheWay reports that it may not yet be to some node, but will be if all
	// goes well, and Room that the pod fits on such nodes beside those before it in the scheduler's queue.
	Open, OnTheWay, Room bool
}

// Hold reports whether the pod must wait. One for which there is no node, and none will be, is let through although no node takes it:
// an autoscaler adds nodes only for pods that the scheduler has tried. No other node would do for a pinned pod.
func (n Nodes) Hold() bool { return !n.Open && (n.Pinned || (n.OnTheWay && n.Room)) }

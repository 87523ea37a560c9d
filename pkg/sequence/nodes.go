package sequence

import (
	"time"

	"example.com/podsequence/pkg/sequence/inventory"
)

// nodes are all nodes.
type nodes struct {
	byName map[string]*node
	hosts  map[string]map[string]struct{} // names of nodes by host name
	// changedAs is the version with which one last came: pods may count that are bound to it.
	changedAs string
	listed    bool // a list has said which nodes there are: others do not exist
	// pods are those that have a node, which may not be known, and have not ended, by the name of the node.
	pods lists[string, *pod]
}

func newNodes() nodes {
	return nodes{byName: map[string]*node{}, hosts: map[string]map[string]struct{}{}, pods: lists[string, *pod]{}}
}

// node is a node, and what it is to the engine.
type node struct {
	inventory.Node
	seenAt time.Time // when the engine came to know it
}

func (all *nodes) removeHost(n *node) { remove(all.hosts, n.Hostname(), n.Name) }

// movePod enters that a pod runs on another node than before, or on none.
func (all *nodes) movePod(p *pod, from, to string) {
	if from == to {
		return
	}
	if from != "" {
		all.pods.remove(from, p)
	}
	if to != "" {
		all.pods.add(to, p)
	}
}

// podsOnNode is how many pods a node may have that does not say, as kubelet has it by default.
const podsOnNode = 110

// roomOn returns how many more pods a node may have.
func (all *nodes) roomOn(name string) int {
	most := podsOnNode
	if n := all.byName[name]; n != nil && n.MaxPods > 0 {
		most = n.MaxPods
	}
	return max(0, most-len(all.pods[name]))
}

// troubled reports whether something is wrong with the node that pods there which are not ready should be seen with.
func (n *node) troubled() bool { return !n.NotReady.IsZero() || n.Object.Spec.Unschedulable }

// sameTrouble reports whether the same is wrong with a node as before. A node that is not known is nil.
func sameTrouble(before, now *node) bool {
	if before == nil || now == nil {
		return (before == nil || !before.troubled()) && (now == nil || !now.troubled())
	}
	return before.NotReady == now.NotReady && before.Object.Spec.Unschedulable == now.Object.Spec.Unschedulable
}

// applies reports whether the group of a membership is for the node. Only in scope Node a group can be for some nodes.
func (all *nodes) applies(m membership, name string) bool {
	n := all.byName[name]
	return n == nil || m.sequence.groups[m.group].AppliesTo(n.Object.Labels)
}

// viewOf returns the facts of a node; nil while it is not known.
func (all *nodes) viewOf(name string) *inventory.Node {
	if n := all.byName[name]; n != nil {
		return &n.Node
	}
	return nil
}

// mayExist reports whether there is a node of this name, as far as anybody knows.
func (all *nodes) mayExist(name string) bool { return !all.listed || all.byName[name] != nil }

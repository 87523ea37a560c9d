package sequence

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
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

// isDue reports whether a DaemonSet should have a pod on the node: not on one that is not known, which is nil here and below.
func (n *node) isDue(w *workload) bool { return n != nil && w.dueRule.IsDueOn(&n.Node) }

// unmet returns the conditions that the group asks for and the node does not have. Of a node that is not known nothing holds.
func (n *node) unmet(g *group) readiness.Unmet {
	switch {
	case len(g.NodeConditions) == 0:
		return 0
	case n == nil:
		return ^readiness.Unmet(0)
	}
	return readiness.UnmetOn(g.NodeConditions, &n.Node)
}

// conditionsSince is when the last condition of the node turned that the group asks for; zero if it asks for none, or if unknown.
func (n *node) conditionsSince(g *group) time.Time {
	if len(g.NodeConditions) == 0 || n == nil {
		return time.Time{}
	}
	return readiness.HoldsSince(g.NodeConditions, &n.Node)
}

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
	if !k.nodes.listed {
		k.nodes.listed = true
		for name := range k.nodes.pods {
			k.recountOnNode(name, tx)
		}
	}
}

func (k *knowledge) applyNode(object *corev1.Node, tx *transaction) {
	view, old := &node{Node: inventory.ViewNode(object)}, k.nodes.byName[object.Name]
	if old != nil {
		if !inventory.Newer(view.ResourceVersion, old.ResourceVersion) {
			return
		}
		if old.Same(&view.Node) && old.SameConditions(&view.Node, k.asksNodes) {
			old.Renew(&view.Node)
			return
		}
		k.nodes.removeHost(old)
		tx.pins = append(tx.pins, changedPin{Pin: inventory.Pin{Host: old.Hostname()}})
	}
	if view.seenAt = k.now.Truncate(time.Second); old != nil && old.Object.UID == view.Object.UID {
		view.seenAt = old.seenAt
	}
	k.nodes.byName[view.Name] = view
	k.reportTrouble(old, view, tx)
	k.workloads.reviewNodeless(old, view, tx)
	insert(k.nodes.hosts, view.Hostname(), view.Name)
	for s := range k.perNode {
		d := s.domainAt(view.Name)
		if d.node == nil || d.node.Object.UID != view.Object.UID {
			d.reset()
		}
		d.setNode(view, tx)
		if record := s.nodeRecords[view.Name]; record != nil {
			d.restoreFromRecord(record)
		}
		tx.markDirty(d)
		d.enterDue()
	}
	if old == nil || old.Object.UID != view.Object.UID {
		k.nodes.changedAs = inventory.Newest(k.nodes.changedAs, view.ResourceVersion)
		k.recountOnNode(view.Name, tx)
	}
	tx.pins = append(tx.pins, changedPin{Pin: inventory.Pin{Host: view.Hostname()}, added: old == nil || old.Hostname() != view.Hostname()})
}

func (k *knowledge) removeNode(name string, tx *transaction) {
	n := k.nodes.byName[name]
	if n == nil {
		return
	}
	delete(k.nodes.byName, name)
	k.reportTrouble(n, nil, tx)
	k.workloads.reviewNodeless(n, nil, tx)
	k.recountOnNode(name, tx)
	k.nodes.removeHost(n)
	tx.pins = append(tx.pins, changedPin{Pin: inventory.Pin{Host: n.Hostname()}})
	for s := range k.perNode {
		d := s.domains[name]
		d.setNode(nil, tx)
		tx.markDirty(d)
	}
}

// recountOnNode counts the pods that run on a node anew when the node has come or gone. That does not take back what has ended.
func (k *knowledge) recountOnNode(node string, tx *transaction) {
	n := k.nodes.viewOf(node)
	for _, p := range k.nodes.pods[node] {
		view := *p.Pod
		view.FollowNode(n, k.nodes.mayExist(node))
		same := view.SameOnNode(p.Pod)
		if p.Pod = &view; !same {
			p.mark(tx)
		}
	}
}

// reportTrouble makes status say what is wrong with a node now, also of sequences that do not look at nodes otherwise. It does not look
// at their pods: only at whether some group is not satisfied. Nodes become ready and not ready seldom.
func (k *knowledge) reportTrouble(before, now *node, tx *transaction) {
	if sameTrouble(before, now) {
		return
	}
	for _, s := range k.sequences {
		if s.PerNode {
			continue // the domain of the node is looked at anyway
		}
		for i := range s.groups {
			if !s.nodeless.looksSatisfied(i) {
				tx.markDirty(s.nodeless)
				break
			}
		}
	}
}

package sequence

import "example.com/podsequence/pkg/sequence/readiness"

// A DaemonSet is due on the nodes where it should have a pod.

// isDue reports whether a DaemonSet should have a pod on the domain's node.
func (d *domain) isDue(w *workload) bool { return d.node != nil && w.dueRule.IsDueOn(&d.node.Node) }

// prospectOf returns what a node promises a DaemonSet; n is nil for a node that does not exist.
func (w *workload) prospectOf(n *node) readiness.Prospect {
	if n == nil {
		return w.dueRule.ProspectOf(nil)
	}
	return w.dueRule.ProspectOf(&n.Node)
}

// enterDue marks for re-evaluation the groups of DaemonSets that are due on the domain's node, which is new or has changed.
func (d *domain) enterDue() {
	for i, g := range d.sequence.groups {
		for demand := range g.demands {
			if d.isDue(demand.workload) {
				d.groupState(i)
			}
		}
	}
}

// markOnNodes marks for re-evaluation the nodes where the DaemonSet is due or was.
func (d *demand) markOnNodes(tx *transaction) {
	for _, on := range d.sequence.domains {
		if on.isDue(d.workload) || on.find(d.group) != nil {
			tx.markGroupDirty(on, d.group)
		}
	}
}

// missing counts the DaemonSets that should have a pod on the domain's node and have not, and going those that should have one there
// and are being deleted.
func (d *domain) missing(g *group) (missing, going int) {
	for demand := range g.demands {
		w := demand.workload
		due := d.isDue(w)
		if readiness.IsMissing(due, w.onNode[d.name]) {
			missing++
		}
		if due && w.IsGoing(d.sequence.Cluster) {
			going++
		}
	}
	return missing, going
}

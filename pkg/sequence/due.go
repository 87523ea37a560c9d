package sequence

import "example.com/podsequence/pkg/sequence/readiness"

// A DaemonSet is due on the nodes where it should have a pod.

// isDue reports whether a DaemonSet should have a pod on the domain's node.
func (d *domain) isDue(w *workload) bool { return d.node != nil && w.dueRule.IsDueOn(&d.node.Node) }

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

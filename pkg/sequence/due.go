package sequence

import "example.com/podsequence/pkg/sequence/readiness"

// A DaemonSet is due on the nodes where it should have a pod. That is only kept of DaemonSets that some sequence of scope Node
// selects.

// dueOn are the nodes on which a DaemonSet should have a pod.
func (all *nodes) dueOn(w *workload) map[string]struct{} {
	due := map[string]struct{}{}
	for name, n := range all.byName {
		if w.isDueOn(n) {
			due[name] = struct{}{}
		}
	}
	return due
}

// isDueOn reports whether a DaemonSet should have a pod on a node.
func (w *workload) isDueOn(n *node) bool { return w.rule().IsDueOn(&n.Node) }

// prospectOf returns what a node promises a DaemonSet; n is nil for a node that does not exist.
func (w *workload) prospectOf(n *node) readiness.Prospect {
	if n == nil {
		return w.rule().ProspectOf(nil)
	}
	return w.rule().ProspectOf(&n.Node)
}

func (w *workload) rule() *readiness.DueRule {
	if w.dueRule == nil {
		w.dueRule = readiness.NewDueRule(&w.Workload)
	}
	return w.dueRule
}

// enterDue works out which DaemonSets should run on a node that is new or has changed. due gets their groups.
func (all *workloads) enterDue(view *node, due map[*sequence][]int) {
	for w := range all.daemons {
		runs := w.isDueOn(view)
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

// markDueDirty marks the nodes on which the DaemonSet is due and was not, or the other way round.
func (w *workload) markDueDirty(before map[string]struct{}, tx *transaction) {
	for s, demand := range w.demands {
		if !s.PerNode {
			continue
		}
		for name := range w.due {
			if _, was := before[name]; !was {
				tx.markGroupDirty(s.domainAt(name), demand.group)
			}
		}
		for name := range before {
			if _, is := w.due[name]; !is {
				tx.markGroupDirty(s.domains[name], demand.group)
			}
		}
	}
}

// setDue enters whether the DaemonSet should run on a node.
func (w *workload) setDue(name string, due bool) {
	if due {
		w.due[name] = struct{}{}
	} else {
		delete(w.due, name)
	}
}

// forgetDue forgets where a DaemonSet is due when no sequence of node scope selects it any more.
func (all *workloads) forgetDue(w *workload) {
	for s := range w.demands {
		if s.PerNode {
			return
		}
	}
	delete(all.daemons, w)
	w.due, w.dueRule = nil, nil
}

// missing counts the DaemonSets that should have a pod on the domain's node and have not, and going those that should have one there
// and are being deleted.
func (d *domain) missing(g *group) (missing, going int) {
	for demand := range g.demands {
		w := demand.workload
		_, due := w.due[d.name]
		if readiness.IsMissing(due, w.onNode[d.name]) {
			missing++
		}
		if due && w.IsGoing(d.sequence.Cluster) {
			going++
		}
	}
	return missing, going
}

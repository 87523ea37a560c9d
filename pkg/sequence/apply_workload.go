package sequence

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
)

// ApplyWorkload tells the engine of a Deployment, ReplicaSet, ReplicationController, StatefulSet, DaemonSet or Job that
// was added or changed. A version older than the one it has is ignored, as is an object of another kind.
func (e *Engine) ApplyWorkload(object metav1.Object) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()

	view := viewWorkload(object)
	if view == nil {
		return Changes{}
	}
	e.prepareDue(view)
	e.mu.Lock()
	defer e.mu.Unlock()
	tx := e.at(view.ResourceVersion)
	e.applyWorkload(view, tx)
	return e.settle(tx)
}

// RemoveWorkload tells the engine that a workload is gone.
func (e *Engine) RemoveWorkload(object metav1.Object) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()

	tx := e.at(object.GetResourceVersion())
	e.removeWorkload(object.GetUID(), tx)
	return e.settle(tx)
}

// ReplaceWorkloads tells the engine of all workloads of one kind that there are at a version, in one step.
func (e *Engine) ReplaceWorkloads(kind inventory.Kind, objects []metav1.Object, version string) Changes {
	e.enter.Lock()
	defer e.enter.Unlock()

	views := make([]*workload, 0, len(objects))
	present := make(map[types.UID]struct{}, len(objects))
	for _, object := range objects {
		if view := viewWorkload(object); view != nil && view.Kind == kind {
			e.prepareDue(view)
			views = append(views, view)
			present[view.UID] = struct{}{}
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	tx := e.relistedAt(version)
	for _, view := range views {
		e.applyWorkload(view, tx)
	}
	for uid, w := range e.workloads.byUID {
		if _, ok := present[uid]; !ok && w.Kind == kind {
			e.removeWorkload(uid, tx)
		}
	}
	return e.settle(tx)
}

// applyWorkload enters a new version. The pods are counted anew only if what they are counted for may have changed.
func (e *Engine) applyWorkload(view *workload, tx *transaction) {
	if before := e.workloads.byName[view.Key()]; before != nil && before.UID != view.UID {
		if !inventory.Newer(view.ResourceVersion, before.ResourceVersion) {
			return
		}
		e.removeWorkload(before.UID, tx) // deleted and made again, and the engine saw only the second
	}
	old := e.workloads.byUID[view.UID]
	if old != nil && !inventory.Newer(view.ResourceVersion, old.ResourceVersion) {
		return
	}
	if old != nil && old.SamePods(&view.Workload) {
		e.refreshWorkload(old, view, tx)
		return
	}
	pods := e.podsOf(view)
	e.recount(pods, -1, tx)
	if old != nil {
		e.unplace(old, tx)
		e.workloads.forget(old)
		view.onNode = old.onNode
	}
	e.workloads.learn(view)
	if view.Kind == inventory.KindDaemonSet && old == nil {
		for _, p := range e.podsIn(view.Namespace) {
			if p.Owner.UID == view.UID {
				e.countOnNode(p, +1, tx)
			}
		}
	}
	e.settleRevisions(view, tx)
	e.placeWorkload(view, view.Complete && (old == nil || !old.Complete), tx)
	e.recount(pods, +1, tx)
}

// refreshWorkload enters facts that leave the pods where they are counted.
func (e *Engine) refreshWorkload(w, view *workload, tx *transaction) {
	for _, demand := range w.demands {
		e.touchDemand(demand, tx)
	}
	due, completed := w.due, view.Complete && !w.Complete
	demands, superseded, onNode, revision := w.demands, w.Superseded, w.onNode, w.Revision
	*w = *view
	w.demands, w.Superseded, w.onNode = demands, superseded, onNode
	if w.Kind == inventory.KindDeployment {
		w.Revision = revision
	}
	if w.due == nil {
		w.due = due // unchanged, see prepareDue
	} else {
		e.touchDue(w, due, tx)
	}
	e.settleRevisions(w, tx)
	for _, demand := range w.demands {
		demand.countNames()
		e.refreshDemand(demand, completed, tx)
	}
}

// touchDemand and refreshDemand mark what a demand changes.
func (e *Engine) touchDemand(d *demand, tx *transaction) {
	if !d.sequence.PerNode {
		tx.touch(d.sequence.domains[""])
	}
}

// completed says that the workload is a Job that has completed just now: since when the group is satisfied, it says itself.
func (e *Engine) refreshDemand(d *demand, completed bool, tx *transaction) {
	if d.sequence.PerNode {
		return
	}
	d.refresh()
	if completed && d.entered.Need > 0 {
		state := d.sequence.domains[""].groupState(d.group)
		state.turned = latest(state.turned, d.workload.CompletedAt)
	}
	e.touchDemand(d, tx)
}

// settleRevisions works out which revision of a Deployment, and which Job of a CronJob, is the newest.
func (e *Engine) settleRevisions(w *workload, tx *transaction) {
	deployment := w
	switch {
	case w.Kind == inventory.KindJob && w.Owner != "":
		for _, job := range e.workloads.supersede(w.Owner) {
			for _, demand := range job.demands {
				e.refreshDemand(demand, false, tx)
			}
		}
		return
	case w.Kind == inventory.KindReplicaSet && w.Owner != "":
		deployment = e.workloads.byUID[w.Owner]
	}
	if deployment == nil || deployment.Kind != inventory.KindDeployment {
		return
	}
	if newest := e.workloads.newestReplicaSet(deployment); newest != deployment.Revision {
		deployment.Revision = newest
		for _, demand := range deployment.demands {
			e.refreshDemand(demand, false, tx)
		}
	}
}

func (e *Engine) removeWorkload(uid types.UID, tx *transaction) {
	w := e.workloads.byUID[uid]
	if w == nil {
		return
	}
	pods := e.podsOf(w)
	e.recount(pods, -1, tx)
	e.unplace(w, tx)
	e.workloads.forget(w)
	e.settleRevisions(w, tx)
	e.recount(pods, +1, tx)
}

// podsOf are the pods whose counting depends on the workload: its own, and those of a Deployment's ReplicaSets.
func (e *Engine) podsOf(w *workload) []*pod {
	var pods []*pod
	add := func(uid types.UID) {
		for p := range e.workloads.ownedPods[uid] {
			pods = append(pods, p)
		}
	}
	add(w.UID)
	if w.Kind == inventory.KindDeployment {
		for owned := range e.workloads.ownedWorkloads[w.UID] {
			add(owned.UID)
		}
	}
	return pods
}

// recount takes pods out of the sums, or enters them again.
func (e *Engine) recount(pods []*pod, sign int, tx *transaction) {
	for _, p := range pods {
		for _, m := range p.memberships {
			e.count(p, m, sign, false)
			tx.touch(m.sequence.domainOf(p))
		}
	}
}

func (w *workloads) learn(view *workload) {
	w.byUID[view.UID] = view
	w.byName[view.Key()] = view
	insert(w.of, view.Namespace, view)
	if view.Owner != "" {
		insert(w.ownedWorkloads, view.Owner, view)
	}
}

func (w *workloads) forget(old *workload) {
	delete(w.byUID, old.UID)
	delete(w.byName, old.Key())
	remove(w.of, old.Namespace, old)
	if old.Owner != "" {
		remove(w.ownedWorkloads, old.Owner, old)
	}
}

// placeWorkload gives the workload its demand in every sequence of its namespace that selects its pods.
func (e *Engine) placeWorkload(w *workload, completed bool, tx *transaction) {
	ns := e.namespaces[w.Namespace]
	if ns == nil || !w.Counts() {
		return
	}
	for s := range ns.selecting {
		e.placeIn(w, s, completed, tx)
	}
}

func (e *Engine) placeIn(w *workload, s *sequence, completed bool, tx *transaction) {
	if !w.Counts() {
		return
	}
	group, ok := s.Selecting(labels.Set(w.Labels), len(s.groups), s.reaches[w.Namespace])
	if !ok || (s.PerNode && w.Kind != inventory.KindDaemonSet) {
		return
	}
	demand := &demand{workload: w, sequence: s, group: group}
	w.demands[s] = demand
	s.groups[group].demands[demand] = struct{}{}
	if s.PerNode {
		if w.due == nil {
			w.due = e.dueNodes(w)
		}
		e.daemons[w] = struct{}{}
		for name := range w.due {
			tx.touchGroup(s.domainAt(name), group)
		}
		return
	}
	demand.countNames()
	e.refreshDemand(demand, completed, tx)
}

// unplace takes the workload out of all sequences.
func (e *Engine) unplace(w *workload, tx *transaction) {
	for _, demand := range w.demands {
		e.withdrawDemand(demand, tx)
	}
}

func (e *Engine) withdrawDemand(demand *demand, tx *transaction) {
	w, s := demand.workload, demand.sequence
	delete(w.demands, s)
	delete(s.groups[demand.group].demands, demand)
	if !s.PerNode {
		demand.withdraw()
		tx.touch(s.domains[""])
		return
	}
	for name := range w.due {
		tx.touchGroup(s.domains[name], demand.group)
	}
	e.forgetDue(w)
}

// forgetDue releases of where a DaemonSet is due when no sequence of node scope selects it any more.
func (e *Engine) forgetDue(w *workload) {
	for s := range w.demands {
		if s.PerNode {
			return
		}
	}
	delete(e.daemons, w)
	w.due = nil
}

// prepareDue works out, before the lock is taken, on which nodes a DaemonSet should run, if any sequence of node scope may
// ask and the answer may have changed. Writers come one at a time, so what they read stays as it is.
func (e *Engine) prepareDue(view *workload) {
	if view.Kind != inventory.KindDaemonSet || len(e.perNode) == 0 || view.Terminating {
		return
	}
	old := e.workloads.byUID[view.UID]
	if old != nil && old.due != nil && old.Object.GetGeneration() == view.Object.GetGeneration() {
		return
	}
	for s := range e.perNode {
		if _, ok := s.Selecting(labels.Set(view.Labels), len(s.groups), s.reaches[view.Namespace]); ok {
			view.due = e.dueNodes(view)
			return
		}
	}
}

// dueNodes are the nodes on which a DaemonSet should have a pod.
func (e *Engine) dueNodes(w *workload) map[string]struct{} {
	due := map[string]struct{}{}
	for name, n := range e.nodes {
		if readiness.IsDueOn(&w.Workload, &n.Node) {
			due[name] = struct{}{}
		}
	}
	return due
}

// touchDue marks the nodes on which the DaemonSet is due and was not, or the other way round.
func (e *Engine) touchDue(w *workload, before map[string]struct{}, tx *transaction) {
	for s, demand := range w.demands {
		if !s.PerNode {
			continue
		}
		for name := range w.due {
			if _, was := before[name]; !was {
				tx.touchGroup(s.domainAt(name), demand.group)
			}
		}
		for name := range before {
			if _, is := w.due[name]; !is {
				tx.touchGroup(s.domains[name], demand.group)
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

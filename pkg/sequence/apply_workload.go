package sequence

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
)

// prepareWorkloads reads the workloads of one kind from a list of them, before the lock is taken.
func (k *knowledge) prepareWorkloads(kind inventory.Kind, objects []metav1.Object) []*workload {
	views := make([]*workload, 0, len(objects))
	for _, object := range objects {
		if view := viewWorkload(object); view != nil && view.Kind == kind {
			k.prepareDue(view)
			views = append(views, view)
		}
	}
	return views
}

// replaceWorkloads enters all workloads of one kind that there are.
func (k *knowledge) replaceWorkloads(kind inventory.Kind, views []*workload, tx *transaction) {
	present := make(map[types.UID]struct{}, len(views))
	for _, view := range views {
		present[view.UID] = struct{}{}
		k.applyWorkload(view, tx)
	}
	for uid, w := range k.workloads.byUID {
		if _, ok := present[uid]; !ok && w.Kind == kind {
			k.removeWorkload(uid, tx)
		}
	}
}

// applyWorkload enters a new version. The pods are counted anew only if what they are counted for may have changed.
func (k *knowledge) applyWorkload(view *workload, tx *transaction) {
	if before := k.workloads.byName[view.Key()]; before != nil && before.UID != view.UID {
		if !inventory.Newer(view.ResourceVersion, before.ResourceVersion) {
			return
		}
		k.removeWorkload(before.UID, tx) // deleted and made again, and the engine saw only the second
	}
	old := k.workloads.byUID[view.UID]
	if old != nil && !inventory.Newer(view.ResourceVersion, old.ResourceVersion) {
		return
	}
	if old != nil && old.SamePods(&view.Workload) {
		k.refreshWorkload(old, view, tx)
		return
	}
	pods := k.podsOf(view)
	k.recount(pods, -1, tx)
	if old != nil {
		k.unplace(old, tx)
		k.workloads.forget(old)
		view.onNode = old.onNode
	}
	k.workloads.learn(view)
	if view.Kind == inventory.KindDaemonSet && old == nil {
		for _, p := range k.podsIn(view.Namespace) {
			if p.Owner.UID == view.UID {
				k.countOnNode(p, +1, tx)
			}
		}
	}
	k.settleRevisions(view, tx)
	k.placeWorkload(view, view.Complete && (old == nil || !old.Complete), tx)
	k.recount(pods, +1, tx)
}

// refreshWorkload enters facts that leave the pods where they are counted.
func (k *knowledge) refreshWorkload(w, view *workload, tx *transaction) {
	for _, demand := range w.demands {
		k.touchDemand(demand, tx)
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
		k.touchDue(w, due, tx)
	}
	k.settleRevisions(w, tx)
	for _, demand := range w.demands {
		demand.countNames()
		k.refreshDemand(demand, completed, tx)
	}
}

// touchDemand and refreshDemand mark what a demand changes.
func (k *knowledge) touchDemand(d *demand, tx *transaction) {
	if !d.sequence.PerNode {
		tx.touch(d.sequence.nodeless)
	}
}

// completed says that the workload is a Job that has completed just now: since when the group is satisfied, it says itself.
func (k *knowledge) refreshDemand(d *demand, completed bool, tx *transaction) {
	if d.sequence.PerNode {
		return
	}
	d.refresh()
	if completed && d.entered.Need > 0 {
		state := d.sequence.nodeless.groupState(d.group)
		state.turned = latest(state.turned, d.workload.CompletedAt)
	}
	k.touchDemand(d, tx)
}

// settleRevisions works out which revision of a Deployment, and which Job of a CronJob, is the newest.
func (k *knowledge) settleRevisions(w *workload, tx *transaction) {
	deployment := w
	switch {
	case w.Kind == inventory.KindJob && w.Owner != "":
		for _, job := range k.workloads.supersede(w.Owner) {
			for _, demand := range job.demands {
				k.refreshDemand(demand, false, tx)
			}
		}
		return
	case w.Kind == inventory.KindReplicaSet && w.Owner != "":
		deployment = k.workloads.byUID[w.Owner]
	}
	if deployment == nil || deployment.Kind != inventory.KindDeployment {
		return
	}
	if newest := k.workloads.newestReplicaSet(deployment); newest != deployment.Revision {
		deployment.Revision = newest
		for _, demand := range deployment.demands {
			k.refreshDemand(demand, false, tx)
		}
	}
}

func (k *knowledge) removeWorkload(uid types.UID, tx *transaction) {
	w := k.workloads.byUID[uid]
	if w == nil {
		return
	}
	pods := k.podsOf(w)
	k.recount(pods, -1, tx)
	k.unplace(w, tx)
	k.workloads.forget(w)
	k.settleRevisions(w, tx)
	k.recount(pods, +1, tx)
}

// podsOf are the pods whose counting depends on the workload: its own, and those of a Deployment's ReplicaSets.
func (k *knowledge) podsOf(w *workload) []*pod {
	var pods []*pod
	add := func(uid types.UID) {
		for p := range k.workloads.ownedPods[uid] {
			pods = append(pods, p)
		}
	}
	add(w.UID)
	if w.Kind == inventory.KindDeployment {
		for owned := range k.workloads.ownedWorkloads[w.UID] {
			add(owned.UID)
		}
	}
	return pods
}

// recount takes pods out of the sums, or enters them again.
func (k *knowledge) recount(pods []*pod, sign int, tx *transaction) {
	for _, p := range pods {
		for _, m := range p.memberships {
			k.count(p, m, sign, false)
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
func (k *knowledge) placeWorkload(w *workload, completed bool, tx *transaction) {
	ns := k.namespaces[w.Namespace]
	if ns == nil || !w.Counts() {
		return
	}
	for s := range ns.selecting {
		k.placeIn(w, s, completed, tx)
	}
}

func (k *knowledge) placeIn(w *workload, s *sequence, completed bool, tx *transaction) {
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
			w.due = k.dueNodes(w)
		}
		k.daemons[w] = struct{}{}
		for name := range w.due {
			tx.touchGroup(s.domainAt(name), group)
		}
		return
	}
	demand.countNames()
	k.refreshDemand(demand, completed, tx)
}

// unplace takes the workload out of all sequences.
func (k *knowledge) unplace(w *workload, tx *transaction) {
	for _, demand := range w.demands {
		k.withdrawDemand(demand, tx)
	}
}

func (k *knowledge) withdrawDemand(demand *demand, tx *transaction) {
	w, s := demand.workload, demand.sequence
	delete(w.demands, s)
	delete(s.groups[demand.group].demands, demand)
	if !s.PerNode {
		demand.withdraw()
		tx.touch(s.nodeless)
		return
	}
	for name := range w.due {
		tx.touchGroup(s.domains[name], demand.group)
	}
	k.forgetDue(w)
}

// forgetDue releases of where a DaemonSet is due when no sequence of node scope selects it any more.
func (k *knowledge) forgetDue(w *workload) {
	for s := range w.demands {
		if s.PerNode {
			return
		}
	}
	delete(k.daemons, w)
	w.due = nil
}

// prepareDue works out, before the lock is taken, on which nodes a DaemonSet should run, if any sequence of node scope may
// ask and the answer may have changed. Writers come one at a time, so what they read stays as it is.
func (k *knowledge) prepareDue(view *workload) {
	if view.Kind != inventory.KindDaemonSet || len(k.perNode) == 0 || view.Terminating {
		return
	}
	old := k.workloads.byUID[view.UID]
	if old != nil && old.due != nil && old.Object.GetGeneration() == view.Object.GetGeneration() {
		return
	}
	for s := range k.perNode {
		if _, ok := s.Selecting(labels.Set(view.Labels), len(s.groups), s.reaches[view.Namespace]); ok {
			view.due = k.dueNodes(view)
			return
		}
	}
}

// dueNodes are the nodes on which a DaemonSet should have a pod.
func (k *knowledge) dueNodes(w *workload) map[string]struct{} {
	due := map[string]struct{}{}
	for name, n := range k.nodes {
		if readiness.IsDueOn(&w.Workload, &n.Node) {
			due[name] = struct{}{}
		}
	}
	return due
}

// touchDue marks the nodes on which the DaemonSet is due and was not, or the other way round.
func (k *knowledge) touchDue(w *workload, before map[string]struct{}, tx *transaction) {
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

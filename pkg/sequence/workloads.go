package sequence

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
)

// viewWorkload is the workload as the engine has not entered it yet; nil for an object of a kind that is not in the table.
func viewWorkload(object metav1.Object) *workload {
	w := &workload{demands: map[*sequence]*demand{}}
	if !w.View(object) {
		return nil
	}
	return w
}

func (all *workloads) addWorkload(view *workload) {
	all.byUID[view.UID] = view
	all.byName[view.Key()] = view
	insert(all.byNamespace, view.Namespace, view)
	if view.Failed {
		insert(all.failedJobs, purposeOf(view), view)
	}
	if view.Owner != "" {
		insert(all.ownedWorkloads, view.Owner, view)
	}
}

func (all *workloads) forgetWorkload(old *workload) {
	delete(all.byUID, old.UID)
	delete(all.byName, old.Key())
	remove(all.byNamespace, old.Namespace, old)
	if old.Failed {
		remove(all.failedJobs, purposeOf(old), old)
	}
	if old.Owner != "" {
		remove(all.ownedWorkloads, old.Owner, old)
	}
}

// owner is the workload that owns a pod.
type owner struct {
	workload *workload // nil: nobody, or of a kind that is not in the table
	revision string
	// unseen reports that there is one, but that the engine does not know it yet.
	unseen bool
}

// ownerOf finds the workload that owns the pod. The pods of a ReplicaSet that a Deployment has belong to the Deployment; which
// ReplicaSet it is, is their revision.
func (all *workloads) ownerOf(p *pod) owner {
	if p.Owner.UID == "" || !p.Owner.Known {
		return owner{}
	}
	controller := all.byUID[p.Owner.UID]
	switch {
	case controller == nil:
		return owner{unseen: true}
	case controller.Kind == inventory.KindReplicaSet && controller.Owner != "":
		if deployment := all.byUID[controller.Owner]; deployment != nil {
			return owner{workload: deployment, revision: string(controller.UID)}
		}
		return owner{unseen: true}
	}
	return owner{workload: controller, revision: controller.RevisionOf(p.Pod)}
}

// newestReplicaSet is the one that has the Deployment's template, by Kubernetes' own rule; empty if there is none yet.
func (all *workloads) newestReplicaSet(deployment *workload) string {
	var sets []*appsv1.ReplicaSet
	for owned := range all.ownedWorkloads[deployment.UID] {
		if set, ok := owned.Object.(*appsv1.ReplicaSet); ok && !owned.Terminating {
			sets = append(sets, set)
		}
	}
	return readiness.NewestReplicaSet(&deployment.Workload, sets)
}

// markSuperseded marks the Jobs of a CronJob that have a newer sibling, or had one that went before it was complete, and returns those
// that it marked or unmarked.
func (all *workloads) markSuperseded(cronJob types.UID) []*workload {
	var newest *workload
	for job := range all.ownedWorkloads[cronJob] {
		if job.Kind == inventory.KindJob && (newest == nil || job.StartedAfter(&newest.Workload)) {
			newest = job
		}
	}
	var changed []*workload
	for job := range all.ownedWorkloads[cronJob] {
		superseded := job != newest || job.CreatedAt.Before(all.unfinished[cronJob])
		if job.Kind == inventory.KindJob && job.Superseded != superseded {
			job.Superseded = superseded
			job.replaced = job.replaced || superseded
			changed = append(changed, job)
		}
	}
	return changed
}

// noteUnfinished remembers a Job of a CronJob that goes before it is complete: an older one that was complete is no newer for it.
func (all *workloads) noteUnfinished(w *workload) {
	if w.Kind != inventory.KindJob || w.Owner == "" || w.Complete {
		return
	}
	all.unfinished[w.Owner] = latest(all.unfinished[w.Owner], w.CreatedAt)
}

// forgetUnfinished forgets the unfinished Job of a CronJob that has no Jobs left.
func (all *workloads) forgetUnfinished(cronJob types.UID) {
	if len(all.ownedWorkloads[cronJob]) == 0 {
		delete(all.unfinished, cronJob)
	}
}

// countRevision counts a pod of a DaemonSet by its revision.
func (all *workloads) countRevision(p *pod, sign int, tx *transaction) {
	if p.DaemonRevision() == "" || p.Owner.UID == "" {
		return
	}
	byRevision, revision := all.daemonPods[p.Owner.UID], p.DaemonRevision()
	before := byRevision[revision]
	bump(&byRevision, revision, sign)
	all.daemonPods[p.Owner.UID] = byRevision
	if len(byRevision) == 0 {
		delete(all.daemonPods, p.Owner.UID)
	}
	if w := all.byUID[p.Owner.UID]; w != nil && (before == 0 || before+sign == 0) {
		all.settleRevisions(w, tx)
	}
}

// newestHashes are the template hashes of the pods of the DaemonSet's newest generation; nil if there are none.
func (all *workloads) newestHashes(w *workload) map[string]struct{} {
	var hashes map[string]struct{}
	for revision := range all.daemonPods[w.UID] {
		if generation, hash := inventory.SplitDaemonRevision(revision); generation == w.Revision && hash != "" {
			if hashes == nil {
				hashes = map[string]struct{}{}
			}
			hashes[hash] = struct{}{}
		}
	}
	return hashes
}

// podsOf are the pods whose counting depends on the workload: its own, and those of a Deployment's ReplicaSets.
func (all *workloads) podsOf(w *workload) []*pod {
	var pods []*pod
	add := func(uid types.UID) {
		for p := range all.ownedPods[uid] {
			pods = append(pods, p)
		}
	}
	add(w.UID)
	if w.Kind == inventory.KindDeployment {
		for owned := range all.ownedWorkloads[w.UID] {
			add(owned.UID)
		}
	}
	return pods
}

// settleRevisions works out which revision of a Deployment or DaemonSet, and which Job of a CronJob, is the newest.
func (all *workloads) settleRevisions(w *workload, tx *transaction) {
	deployment := w
	switch {
	case w.Kind == inventory.KindJob && w.Owner != "":
		for _, job := range all.markSuperseded(w.Owner) {
			for _, demand := range job.demands {
				demand.update(false, tx)
			}
		}
		return
	case w.Kind == inventory.KindDaemonSet:
		if hashes := all.newestHashes(w); !maps.Equal(hashes, w.NewestHashes) {
			w.NewestHashes = hashes
			markPods(all.podsOf(w), tx)
		}
		return
	case w.Kind == inventory.KindReplicaSet && w.Owner != "":
		deployment = all.byUID[w.Owner]
	}
	if deployment == nil || deployment.Kind != inventory.KindDeployment {
		return
	}
	if newest := all.newestReplicaSet(deployment); newest != deployment.Revision {
		deployment.Revision = newest
		markPods(all.podsOf(deployment), tx)
	}
}

// A DaemonSet is due on the nodes where it should have a pod. That is only kept of DaemonSets that some sequence of scope Node
// selects.

// prepareDue works out, before the lock is taken, on which nodes a DaemonSet should run, if any sequence of node scope may
// ask and the answer may have changed. Writers come one at a time, so what they read stays as it is.
func (k *knowledge) prepareDue(view *workload) {
	if view.Kind != inventory.KindDaemonSet || len(k.perNode) == 0 {
		return
	}
	old := k.workloads.byUID[view.UID]
	if old != nil && old.due != nil && old.Object.GetGeneration() == view.Object.GetGeneration() {
		return
	}
	for s := range k.perNode {
		if _, ok := s.GroupOfTemplate(view.Namespace, labels.Set(view.Labels), s.groupsByNamespace[view.Namespace]); ok {
			view.due = k.nodes.dueOn(view)
			return
		}
	}
}

// dueOn are the nodes on which a DaemonSet should have a pod.
func (all *nodes) dueOn(w *workload) map[string]struct{} {
	due := map[string]struct{}{}
	for name, n := range all.byName {
		if readiness.IsDueOn(&w.Workload, &n.Node) {
			due[name] = struct{}{}
		}
	}
	return due
}

// enterDue works out which DaemonSets should run on a node that is new or has changed. due gets their groups.
func (all *workloads) enterDue(view *node, due map[*sequence][]int) {
	for w := range all.daemons {
		runs := readiness.IsDueOn(&w.Workload, &view.Node)
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
	w.due = nil
}

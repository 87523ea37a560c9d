package sequence

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
)

// replaceWorkloads enters all workloads of one kind that there are.
func (k *knowledge) replaceWorkloads(kind inventory.Kind, objects []metav1.Object, tx *transaction) {
	present := make(map[types.UID]struct{}, len(objects))
	for _, object := range objects {
		if view := viewWorkload(object); view != nil && view.Kind == kind {
			present[view.UID] = struct{}{}
			k.applyWorkload(view, tx)
		}
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
		k.removeFromWorkloads(before, tx) // deleted and made again, and the engine saw only the second
		defer k.workloads.forgetUnfinished(before.Owner)
	}
	old := k.workloads.byUID[view.UID]
	if old != nil && !inventory.Newer(view.ResourceVersion, old.ResourceVersion) {
		return
	}
	view.NamespaceGoing = k.consents.facts[view.Namespace].going
	if view.changedAs = view.ResourceVersion; old != nil && old.CountsAs(&view.Workload) {
		view.changedAs = old.changedAs
	}
	if old != nil && old.SamePods(&view.Workload) {
		k.workloads.refresh(old, view, tx)
		return
	}
	if old != nil {
		k.workloads.removeFromSequences(old, tx)
		k.workloads.forgetWorkload(old)
		view.onNode, view.replaced = old.onNode, old.replaced
	}
	k.workloads.addWorkload(view)
	if view.Hook != (old != nil && old.Hook) {
		k.reviewHook(view, tx)
	}
	if view.Kind == inventory.KindJob {
		k.reviewFailuresOf(view.Kind, view.Namespace, view.Name, tx)
	}
	if view.Kind == inventory.KindDaemonSet && old == nil {
		for _, p := range k.namespaces.pods(view.Namespace) {
			if p.OwnerUID == view.UID {
				k.workloads.countOnNode(p, +1, tx)
			}
		}
	}
	k.workloads.settleRevisions(view, tx)
	if old != nil && old.Owner != view.Owner { // orphaned, or adopted
		k.workloads.settleRevisions(old, tx)
	}
	k.placeWorkload(view, view.Complete && (old == nil || !old.Complete), tx)
	markPods(k.workloads.podsOf(view), tx)
}

// removeWorkload takes out a workload that was deleted.
func (k *knowledge) removeWorkload(uid types.UID, tx *transaction) {
	w := k.workloads.byUID[uid]
	if w == nil {
		return
	}
	var counted []*demand
	if readiness.IsFailedJob(&w.Workload) {
		counted = slices.Collect(maps.Values(w.demands))
	}
	k.removeFromWorkloads(w, tx)
	k.workloads.forgetUnfinished(w.Owner)
	if w.Kind == inventory.KindJob {
		k.rememberJob(w, counted, tx)
		k.reviewFailuresOf(w.Kind, w.Namespace, w.Name, tx)
	}
}

// removeFromWorkloads takes the workload out, and looks anew at its pods if they were no members because of it.
func (k *knowledge) removeFromWorkloads(w *workload, tx *transaction) {
	k.workloads.remove(w.UID, tx)
	if w.Hook {
		k.reviewHook(w, tx)
	}
}

// A pod of a hook that no order concerns says so by its own annotations, or the Job that owns it does. The engine may come to know the pod
// before it knows that Job. Until then the pod is a member of groups like any other, so that it waits rather than starts too early.

// reviewHook enters the pods of a Job anew that has become a hook, or is none any more.
func (k *knowledge) reviewHook(w *workload, tx *transaction) {
	ns := k.namespaces[w.Namespace]
	if ns == nil {
		return
	}
	for _, p := range ns.pods {
		if p.OwnerUID != w.UID || p.OfHook == k.workloads.isOfHook(p.Pod) {
			continue
		}
		facts := *p.Pod
		facts.OfHook = !facts.OfHook
		p.markDirty(tx)
		k.update(ns, p, withFacts(facts), true, tx)
		tx.entered = append(tx.entered, p)
	}
}

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

// refresh enters facts that leave the pods where they are counted.
func (all *workloads) refresh(w, view *workload, tx *transaction) {
	completed, isDueOtherwise := view.Complete && !w.Complete, view.Generation != w.Generation || view.IsGoing(false) != w.IsGoing(false)
	demands, superseded, onNode, hashes, replaced := w.demands, w.Superseded, w.onNode, w.NewestHashes, w.replaced
	revision, allCurrent, leavesOld := w.Revision, w.AllCurrent, w.LeavesOldPods()
	*w = *view // whether its namespace goes has been entered into the view
	w.demands, w.Superseded, w.onNode, w.NewestHashes, w.replaced = demands, superseded, onNode, hashes, replaced
	if w.Kind == inventory.KindDeployment {
		w.Revision = revision
	}
	if w.Revision != revision || w.AllCurrent != allCurrent || w.LeavesOldPods() != leavesOld {
		markPods(all.podsOf(w), tx)
	}
	all.settleRevisions(w, tx)
	for _, demand := range w.demands {
		if isDueOtherwise && demand.sequence.PerNode {
			demand.markOnNodes(tx)
		}
		demand.countNames()
		demand.update(completed, tx)
	}
}

// setNamespaceGoing enters whether the namespace of workloads is being deleted.
func (all *workloads) setNamespaceGoing(namespace string, going bool, tx *transaction) {
	for w := range all.byNamespace[namespace] {
		w.NamespaceGoing = going
		for _, demand := range w.demands {
			if demand.sequence.PerNode {
				demand.markOnNodes(tx)
			}
			demand.update(false, tx)
		}
	}
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

func (all *workloads) remove(uid types.UID, tx *transaction) {
	w := all.byUID[uid]
	if w == nil {
		return
	}
	all.noteUnfinished(w)
	markPods(all.podsOf(w), tx)
	all.removeFromSequences(w, tx)
	all.forgetWorkload(w)
	all.settleRevisions(w, tx)
}

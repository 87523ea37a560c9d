package sequence

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	if w.Kind == inventory.KindDaemonSet {
		w.dueRule = readiness.NewDueRule(&w.Workload)
	}
	return w
}

func (all *workloads) addWorkload(view *workload) {
	all.byUID[view.UID] = view
	all.byName[view.Key()] = view
	insert(all.byNamespace, view.Namespace, view)
	if view.Owner != "" {
		insert(all.ownedWorkloads, view.Owner, view)
	}
}

func (all *workloads) forgetWorkload(old *workload) {
	delete(all.byUID, old.UID)
	delete(all.byName, old.Key())
	delete(all.nodeless, old)
	remove(all.byNamespace, old.Namespace, old)
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
	if p.OwnerUID == "" || !p.OwnerKnown {
		return owner{}
	}
	controller := all.byUID[p.OwnerUID]
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

// isOfHook reports whether the Job that owns a pod is a hook that no order concerns.
func (all *workloads) isOfHook(p *inventory.Pod) bool {
	if p.OwnerUID == "" || !p.OwnerKnown {
		return false
	}
	job := all.byUID[p.OwnerUID]
	return job != nil && job.Hook && job.Namespace == p.Namespace
}

// podsOf are the pods whose counting depends on the workload: its own, and those of a Deployment's ReplicaSets.
func (all *workloads) podsOf(w *workload) []*pod {
	var pods []*pod
	add := func(uid types.UID) {
		pods = append(pods, all.ownedPods[uid]...)
	}
	add(w.UID)
	if w.Kind == inventory.KindDeployment {
		for owned := range all.ownedWorkloads[w.UID] {
			add(owned.UID)
		}
	}
	return pods
}

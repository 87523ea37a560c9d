package sequence

import (
	"k8s.io/apimachinery/pkg/types"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"

	appsv1 "k8s.io/api/apps/v1"
)

// workloads are the objects that make pods, and how they hang together.
type workloads struct {
	byUID  map[types.UID]*workload
	byName map[workloadKey]*workload
	// of has the workloads of each namespace.
	of map[string]map[*workload]struct{}
	// owned are the ReplicaSets of a Deployment, or the Jobs of a CronJob, by the owner's UID.
	owned map[types.UID]map[*workload]struct{}
	// made are the pods that belong to some sequence, by the UID of their controller, known or not.
	made map[types.UID]map[*pod]struct{}
}

func newWorkloads() workloads {
	return workloads{
		byUID: map[types.UID]*workload{}, byName: map[workloadKey]*workload{}, of: map[string]map[*workload]struct{}{},
		owned: map[types.UID]map[*workload]struct{}{}, made: map[types.UID]map[*pod]struct{}{},
	}
}

// maker is what made a pod.
type maker struct {
	workload *workload // nil: nobody, or of a kind that the engine is not told of
	revision string
	// unseen tells that there is one, but that the engine does not know it yet.
	unseen bool
}

// makerOf finds what made the pod. The pods of a ReplicaSet that a Deployment has belong to the Deployment; which
// ReplicaSet it is, is their revision.
func (w *workloads) makerOf(p *pod) maker {
	if p.owner.uid == "" || !p.owner.known {
		return maker{}
	}
	owner := w.byUID[p.owner.uid]
	switch {
	case owner == nil:
		return maker{unseen: true}
	case owner.kind == KindReplicaSet && owner.owner != "":
		if deployment := w.byUID[owner.owner]; deployment != nil {
			return maker{workload: deployment, revision: string(owner.uid)}
		}
		return maker{unseen: true}
	}
	return maker{workload: owner, revision: owner.revisionOf(p)}
}

func insert[K comparable, V comparable](index map[K]map[V]struct{}, key K, value V) {
	if index[key] == nil {
		index[key] = map[V]struct{}{}
	}
	index[key][value] = struct{}{}
}

func remove[K comparable, V comparable](index map[K]map[V]struct{}, key K, value V) {
	delete(index[key], value)
	if len(index[key]) == 0 {
		delete(index, key)
	}
}

// newestReplicaSet is the one that has the Deployment's template, by Kubernetes' own rule; empty if there is none yet.
func (w *workloads) newestReplicaSet(deployment *workload) string {
	var sets []*appsv1.ReplicaSet
	for owned := range w.owned[deployment.uid] {
		if set, ok := owned.object.(*appsv1.ReplicaSet); ok && !owned.terminating {
			sets = append(sets, set)
		}
	}
	newest := deploymentutil.FindNewReplicaSet(deployment.object.(*appsv1.Deployment), sets)
	if newest == nil {
		return ""
	}
	return string(newest.UID)
}

// supersede marks the Jobs of a CronJob that have a newer sibling, and returns those that it marked or unmarked.
func (w *workloads) supersede(cronJob types.UID) []*workload {
	var newest *workload
	for job := range w.owned[cronJob] {
		if job.kind == KindJob && !job.terminating && (newest == nil || job.startedAfter(newest)) {
			newest = job
		}
	}
	var changed []*workload
	for job := range w.owned[cronJob] {
		if job.kind == KindJob && job.superseded != (job != newest) {
			job.superseded = job != newest
			changed = append(changed, job)
		}
	}
	return changed
}

func (w *workload) startedAfter(other *workload) bool {
	if !w.created.Equal(other.created) {
		return w.created.After(other.created)
	}
	return w.name > other.name
}

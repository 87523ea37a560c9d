package sequence

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"

	"example.com/podsequence/pkg/sequence/inventory"
)

// newestReplicaSet is the one that has the Deployment's template, by Kubernetes' own rule; empty if there is none yet.
func (all *workloads) newestReplicaSet(deployment *workload) string {
	var sets []*appsv1.ReplicaSet
	for owned := range all.ownedWorkloads[deployment.UID] {
		if set, ok := owned.Object.(*appsv1.ReplicaSet); ok && !owned.Terminating {
			sets = append(sets, set)
		}
	}
	newest := deploymentutil.FindNewReplicaSet(deployment.Object.(*appsv1.Deployment), sets)
	if newest == nil {
		return ""
	}
	return string(newest.UID)
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

// countRevision counts a pod of a DaemonSet by its revision.
func (all *workloads) countRevision(p *pod, sign int, tx *transaction) {
	if p.DaemonRevision() == "" || p.OwnerUID == "" {
		return
	}
	byRevision, revision := all.daemonPods[p.OwnerUID], p.DaemonRevision()
	before := byRevision[revision]
	bump(&byRevision, revision, sign)
	all.daemonPods[p.OwnerUID] = byRevision
	if len(byRevision) == 0 {
		delete(all.daemonPods, p.OwnerUID)
	}
	if w := all.byUID[p.OwnerUID]; w != nil && (before == 0 || before+sign == 0) {
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

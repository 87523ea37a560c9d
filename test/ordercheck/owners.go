package ordercheck

import (
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
)

// podOwner is what made a pod.
type podOwner struct {
	controlled bool           // something did
	workload   *workloadFacts // nil when it is of an unknown kind, or gone
}

// ownerOf sees through the ReplicaSets of Deployments.
func (ns *namespace) ownerOf(p *podFacts) podOwner {
	if p.owner.uid == "" {
		return podOwner{}
	}
	w := ns.workloads[p.owner.uid]
	if w != nil && w.ofDeployment() {
		w = ns.workloads[w.owner.uid]
	}
	return podOwner{controlled: true, workload: w}
}

// ofDeployment reports whether this is a ReplicaSet that is counted with its Deployment.
func (f *workloadFacts) ofDeployment() bool {
	return f.kind == "ReplicaSet" && f.owner.kind == "Deployment" && strings.HasPrefix(f.owner.apiVersion, "apps/")
}

// counts reports whether pods are expected of a workload, also of one that is on its way out: a Deployment's ReplicaSets are counted
// with it, and of a CronJob's Jobs only the newest is.
func (ns *namespace) counts(f *workloadFacts) bool { return !f.ofDeployment() && !ns.superseded(f) }

func (ns *namespace) superseded(f *workloadFacts) bool {
	if f.kind != "Job" || f.owner.kind != "CronJob" || !strings.HasPrefix(f.owner.apiVersion, "batch/") {
		return false
	}
	for uid := range ns.owning[f.owner.uid] {
		if other := ns.workloads[uid]; other.kind == "Job" && other.youngerThan(f.created, f.Name) {
			return true
		}
	}
	return f.created.Before(ns.unfinished[f.owner.uid])
}

// youngerThan reports whether a Job of a CronJob is younger than one that was created then under a name.
func (f *workloadFacts) youngerThan(created time.Time, name string) bool {
	return f.created.After(created) || f.created.Equal(created) && f.Name > name
}

// currentOf returns a test for the pods of a workload's current revision.
func (ns *namespace) currentOf(f *workloadFacts) func(*podFacts) bool {
	if f.kind == "Deployment" {
		newest := ns.newestReplicaSet(f)
		return func(p *podFacts) bool { return p.owner.uid == newest && newest != "" }
	}
	if f.revision.label == "" {
		return func(*podFacts) bool { return true }
	}
	hashes := sets.New[string]()
	if f.kind == "DaemonSet" {
		ns.podsOf(f, func(p *pod) {
			if p.labels.Get(f.revision.label) == f.revision.value {
				hashes.Insert(p.labels.Get(appsv1.DefaultDaemonSetUniqueLabelKey))
			}
		})
	}
	return func(p *podFacts) bool {
		hash := p.labels.Get(appsv1.DefaultDaemonSetUniqueLabelKey)
		return p.labels.Get(f.revision.label) == f.revision.value || hash != "" && hashes.Has(hash)
	}
}

// newestReplicaSet returns none if the Deployment's controller has not made it yet.
func (ns *namespace) newestReplicaSet(deployment *workloadFacts) types.UID {
	var sets []*appsv1.ReplicaSet
	for uid := range ns.owning[deployment.uid] {
		if set, ok := ns.workloads[uid].object.(*appsv1.ReplicaSet); ok && !ns.workloads[uid].terminating {
			sets = append(sets, set)
		}
	}
	newest := deploymentutil.FindNewReplicaSet(deployment.object.(*appsv1.Deployment), sets)
	if newest == nil {
		return ""
	}
	return newest.UID
}

// podsOf calls yield with each pod of a workload.
func (ns *namespace) podsOf(f *workloadFacts, yield func(*pod)) {
	for _, p := range ns.owned[f.uid] {
		yield(p)
	}
	if f.kind != "Deployment" {
		return
	}
	for set := range ns.owning[f.uid] {
		for _, p := range ns.owned[set] {
			yield(p)
		}
	}
}

// ordinalOf returns the number at the end of the name that a StatefulSet gave a pod.
func (f *workloadFacts) ordinalOf(pod string) (int, bool) {
	digits, ok := strings.CutPrefix(pod, f.Name+"-")
	if f.kind != "StatefulSet" || !ok {
		return 0, false
	}
	ordinal, err := strconv.Atoi(digits)
	return ordinal, err == nil && strconv.Itoa(ordinal) == digits
}

// inRange reports whether an ordinal is one that the StatefulSet wants.
func (o ordinals) inRange(ordinal int) bool { return o.start <= ordinal && ordinal < o.end }

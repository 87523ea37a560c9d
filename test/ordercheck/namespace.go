package ordercheck

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
)

// namespace is what one namespace has.
type namespace struct {
	pods      map[string]*pod                   // by name
	owned     map[types.UID]map[string]*pod     // by the UID of their controller, then by name
	onNode    map[string]map[string]*pod        // by the node they are bound to, then by name
	workloads map[types.UID]*workloadFacts      // by UID
	owning    map[types.UID]sets.Set[types.UID] // workloads by the UID of their controller
	// unfinished is, by the UID of a CronJob that still has Jobs, when the newest of its Jobs was created that went before it was complete.
	unfinished map[types.UID]time.Time
	lost       []*lost // what failed, is gone, and has no successor yet
	found      bool    // the last pod that came was such a successor
	// replaced are Jobs that are still there after a younger one of their CronJob has gone.
	replaced sets.Set[types.UID]
}

func newNamespace() *namespace {
	return &namespace{
		pods: map[string]*pod{}, owned: map[types.UID]map[string]*pod{}, onNode: map[string]map[string]*pod{},
		workloads: map[types.UID]*workloadFacts{}, owning: map[types.UID]sets.Set[types.UID]{},
		unfinished: map[types.UID]time.Time{}, replaced: sets.New[types.UID](),
	}
}

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

// loseJob notes a Job that goes.
func (ns *namespace) loseJob(f *workloadFacts) {
	if f.job == nil {
		return
	}
	cronJob := f.owner
	if f.owner.kind != "CronJob" {
		cronJob = owner{}
	}
	byDeletion := f.terminating && f.job.failedAt.After(f.deletedAt) // its pods were ended before it
	if f.job.failed && !f.aside && !byDeletion && !ns.superseded(f) && !ns.replaced.Has(f.uid) {
		l := &lost{
			NamespacedName: f.NamespacedName, uid: f.uid, created: f.created, cronJob: cronJob, labels: f.template,
			of: func(g *groupFacts) int { return max(1, f.expects(g.reached)) }, failedAt: f.job.failedAt,
		}
		succeeded := false
		for _, other := range ns.workloads {
			succeeded = succeeded || other.uid != f.uid && l.isSucceededBy(other)
		}
		if !succeeded {
			ns.lost = append(ns.lost, l)
		}
	}
	ns.replaced.Delete(f.uid)
	for _, other := range ns.workloads {
		if cronJob != (owner{}) && other.owner == cronJob && f.youngerThan(other.created, other.Name) {
			ns.replaced.Insert(other.uid)
		}
	}
	if cronJob != (owner{}) && !f.complete() {
		ns.unfinished[cronJob.uid] = later(ns.unfinished[cronJob.uid], f.created)
	}
}

// findJob ends what a Job succeeds.
func (ns *namespace) findJob(f *workloadFacts) {
	if f.job != nil {
		ns.lost = slices.DeleteFunc(ns.lost, func(l *lost) bool { return l.isSucceededBy(f) })
	}
}

// losePod notes a pod that goes: it is being deleted, or gone.
func (ns *namespace) losePod(p *podFacts) {
	if p.failed && p.owner.uid == "" && !p.aside && !p.terminating {
		ns.lost = append(ns.lost, &lost{
			NamespacedName: p.NamespacedName, uid: p.uid, pod: true, labels: p.labels, of: func(*groupFacts) int { return 1 },
		})
	}
}

// findPod ends what a pod succeeds.
func (ns *namespace) findPod(p *podFacts) {
	before := len(ns.lost)
	defer func() { ns.found = len(ns.lost) < before }()
	ns.lost = slices.DeleteFunc(ns.lost, func(l *lost) bool { return l.pod && l.Name == p.Name && (l.uid != p.uid || !p.terminating) })
}

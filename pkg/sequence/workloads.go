package sequence

import (
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/internal/deployments"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/readiness"
)

// workloads are the objects that make pods, and how they hang together.
type workloads struct {
	byUID       map[types.UID]*workload
	byName      map[inventory.WorkloadKey]*workload
	byNamespace map[string]map[*workload]struct{}
	// ownedWorkloads are the ReplicaSets of a Deployment, or the Jobs of a CronJob, by the owner's UID.
	ownedWorkloads map[types.UID]map[*workload]struct{}
	// unfinished is, by the UID of a CronJob that still has Jobs, when the newest of its Jobs was created that were deleted before they
	// were complete.
	unfinished map[types.UID]time.Time
	// ownedPods are the pods that belong to some sequence, by the UID of their controller, known or not.
	ownedPods lists[types.UID, *pod]
	// daemonPods counts, by the UID of a DaemonSet, its pods that belong to some sequence, by revision.
	daemonPods map[types.UID]map[string]int
	// nodeless are the DaemonSets that sequences of scope Cluster select and that expect no pod.
	nodeless map[*workload]struct{}
}

func newWorkloads() workloads {
	return workloads{
		byUID: map[types.UID]*workload{}, byName: map[inventory.WorkloadKey]*workload{}, byNamespace: map[string]map[*workload]struct{}{},
		ownedWorkloads: map[types.UID]map[*workload]struct{}{}, ownedPods: lists[types.UID, *pod]{},
		nodeless: map[*workload]struct{}{}, unfinished: map[types.UID]time.Time{}, daemonPods: map[types.UID]map[string]int{},
	}
}

// workload is a workload, and what it is to the engine.
type workload struct {
	inventory.Workload

	// demands holds the workload's place in each sequence whose groups select its pods.
	demands map[*sequence]*demand

	// dueRule says on which nodes a DaemonSet should have a pod, and onNode counts the pods that it has on each. Others have neither.
	dueRule *readiness.DueRule
	onNode  map[string]int

	// replaced reports that its CronJob has had a newer Job, which ended its failure also if the newer one goes first.
	replaced bool

	// changedAs is the version with which it became what counts of it now.
	changedAs string
}

// prospectOf returns what a node promises a DaemonSet; n is nil for a node that does not exist.
func (w *workload) prospectOf(n *node) readiness.Prospect {
	if n == nil {
		return w.dueRule.ProspectOf(nil)
	}
	return w.dueRule.ProspectOf(&n.Node)
}

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

// contribution works out what the member adds to a group, which is its own or one that names it.
func (all *workloads) contribution(at member, group int) contribution {
	p, d, s := at.pod, at.domain, at.domain.sequence
	c := d.countsIn(p, group)
	if required := s.groups[group].requirement(); s.PerNode {
		c.Member = readiness.OnNode(p.Pod, required, d.nodeCreatedAt())
	} else {
		naming := s.Names(p.Namespace)[p.Name]
		if slices.Contains(naming, group) {
			c.Member = readiness.Named(p.Pod, required)
		}
		if group == at.group {
			all.contributeToOwn(&c, p, membership{s, group}, len(naming) > 0 && naming[0] == group)
		}
	}
	c.Ready = c.Ready && c.ready
	return c
}

// contributeToOwn adds what the member adds to no other group than its own.
func (all *workloads) contributeToOwn(c *contribution, p *pod, m membership, named bool) {
	var part *demand
	owner := all.ownerOf(p)
	if owner.workload != nil {
		part = owner.workload.demands[m.sequence]
	}
	counts := part != nil && part.workload.IsUpToDate(owner.revision)
	if counts && part.group > m.group && readiness.IsClaimed(&part.workload.Workload, p.Pod, part.names(), part.group) {
		c.demand = part
	}
	switch readiness.RoleOf(p.Pod, named, part != nil && part.group == m.group, owner.unseen) {
	case readiness.RoleOwned:
		if counts && part.workload.Wants(p.Pod) {
			c.demand = part
		}
	case readiness.RoleUnseen:
		c.Member = readiness.UnseenOwner()
	case readiness.RoleByItself:
		c.Member = readiness.ByItself(p.Pod, m.sequence.groups[m.group].requirement(), m.sequence.nodeless.nodeCreatedAt())
	}
	c.NodeGone = p.Reached(m.sequence.groups[m.group].requirement()).NodeGone
}

// join makes the pod a member of its group. before is the same pod as it was, or nil: that it is ready is news only if it was not then.
func (all *workloads) join(p *pod, m membership, before *pod, tx *transaction) {
	d := m.sequence.domainOf(p)
	at := member{p, d, m.group}
	for i := range at.groups().All() {
		state, was := d.groupState(i), contribution{}
		if before != nil {
			was = d.countsIn(before, i)
			was.timed = false // it has added nothing yet
		}
		if i == m.group {
			state.members = entered(state.members, p, was)
		} else {
			state.named = entered(state.named, p, was)
		}
	}
	tx.mark(at)
}

// leave undoes join. The pod is still as it was when it was last counted.
func (all *workloads) leave(p *pod, m membership, tx *transaction) {
	at := member{p, m.sequence.domainOf(p), m.group}
	for i := range at.groups().All() {
		state := at.domain.groupState(i)
		state.put(at, contribution{}, tx)
		delete(state.members, p)
		delete(state.named, p)
	}
}

// reviewNodeless counts the DaemonSets anew that expect no pod, and to which a node promises something else than before. before and now are
// nil for a node that does not exist.
func (all *workloads) reviewNodeless(before, now *node, tx *transaction) {
	for w := range all.nodeless {
		if w.prospectOf(before) == w.prospectOf(now) {
			continue
		}
		for _, demand := range w.demands {
			demand.update(false, tx)
		}
	}
}

// countOnNode keeps count of the pods that a DaemonSet has on a node, whatever their labels: while it has one it makes no
// other.
func (all *workloads) countOnNode(p *pod, sign int, tx *transaction) {
	if !p.Bound() || p.Terminating || p.Failed || p.OwnerUID == "" {
		return
	}
	w := all.byUID[p.OwnerUID]
	if w == nil || w.Kind != inventory.KindDaemonSet {
		return
	}
	bump(&w.onNode, p.Node, sign)
	for s, demand := range w.demands {
		if s.PerNode {
			tx.markGroupDirty(s.domains[p.Node], demand.group)
		}
	}
}

// removeFromSequences takes the workload out of all sequences.
func (all *workloads) removeFromSequences(w *workload, tx *transaction) {
	for _, demand := range w.demands {
		all.withdrawDemand(demand, tx)
	}
}

func (all *workloads) withdrawDemand(demand *demand, tx *transaction) {
	w, s := demand.workload, demand.sequence
	delete(w.demands, s)
	delete(s.groups[demand.group].demands, demand)
	if !s.PerNode {
		s.changedAs = inventory.Newest(s.changedAs, tx.version) // what it counts is less from now on
		s.nodeless.groupState(demand.group)
		demand.put(readiness.Demands{})
		tx.markDirty(s.nodeless)
		return
	}
	demand.markOnNodes(tx)
}

// newestReplicaSet is the one that has the Deployment's template, by Kubernetes' own rule; empty if there is none yet.
func (all *workloads) newestReplicaSet(deployment *workload) string {
	var sets []*appsv1.ReplicaSet
	for owned := range all.ownedWorkloads[deployment.UID] {
		if set, ok := owned.Object.(*appsv1.ReplicaSet); ok && !owned.Terminating {
			sets = append(sets, set)
		}
	}
	newest := deployments.NewestReplicaSet(deployment.Object.(*appsv1.Deployment), sets)
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

// outdatedBy returns the StatefulSet of a member that is not ready and of an older revision; nil if it is none, or if its set replaces it.
func (all *workloads) outdatedBy(p *pod) *workload {
	if p.Terminating || p.Failed || p.Ready {
		return nil
	}
	owner := all.ownerOf(p)
	w := owner.workload
	if w == nil || !w.LeavesOldPods() || w.IsUpToDate(owner.revision) || !w.Wants(p.Pod) {
		return nil
	}
	return w
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
		reviewFailuresOf(view.Kind, k.namespaces[view.Namespace], view.Namespace, view.Name, tx)
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
		rememberJob(w, counted, tx)
		reviewFailuresOf(w.Kind, k.namespaces[w.Namespace], w.Namespace, w.Name, tx)
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

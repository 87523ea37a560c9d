package sequence

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
)

// replacePods enters all pods that there are.
func (k *knowledge) replacePods(objects []*corev1.Pod, tx *transaction) {
	present := make(map[types.UID]struct{}, len(objects))
	for _, object := range objects {
		present[object.UID] = struct{}{}
		k.applyPod(viewPod(object), tx)
	}
	for name, ns := range k.namespaces {
		for _, p := range ns.pods {
			if _, ok := present[p.UID]; !ok {
				k.removePod(name, p.Name, p.UID, tx)
			}
		}
	}
}

func (k *knowledge) applyPod(view *pod, tx *transaction) {
	ns := k.namespaces.ensure(view.Namespace)
	p := ns.pods[view.Name]
	if p != nil && !inventory.Newer(view.ResourceVersion, p.ResourceVersion) {
		return
	}
	if p != nil {
		view.SeenAt(k.now, p.Pod)
	} else {
		view.SeenAt(k.now, nil)
	}
	view.FollowNode(k.nodes.viewOf(view.Node), k.nodes.mayExist(view.Node))
	view.OfHook = k.workloads.isOfHook(view.Pod)
	if p != nil && p.CountsAs(view.Pod) && p.reachesTheSame(view) {
		renewed := *p.Pod
		renewed.Renew(view.Pod, &k.interner)
		renewed.SeenAt(k.now, p.Pod)
		p.Pod = &renewed
		tx.entered = append(tx.entered, p)
		return
	}

	// Another pod of the same name takes the old one's place in one step: in between, the group would look smaller.
	if p == nil {
		p = newPod()
		ns.pods[view.Name] = p
	}
	isNew := p.UID != view.UID
	replace := isNew || !p.SameMembership(view.Pod)
	p.markDirty(tx)
	if !isNew && view.Terminating && !p.Terminating {
		k.rememberPod(p, tx)
	}
	k.update(ns, p, view, replace, tx)
	tx.entered = append(tx.entered, p)
	if isNew {
		k.reviewFailuresOf(inventory.KindPod, p.Namespace, p.Name, tx)
	}
}

func (k *knowledge) removePod(namespace, name string, uid types.UID, tx *transaction) {
	k.unseen.take(uid)
	ns := k.namespaces[namespace]
	if ns == nil {
		return
	}
	p := ns.pods[name]
	if p == nil || p.UID != uid {
		return
	}
	k.rememberPod(p, tx)
	delete(ns.pods, name)
	k.reviewFailuresOf(inventory.KindPod, namespace, name, tx)
	k.nodes.movePod(p, p.runsOn(), "")
	k.published.withdraw(p)
	k.reviewStart(p, p.memberships(), true)
	p.markDirty(tx)
	k.workloads.countOnNode(p, -1, tx)
	k.leave(p, tx)
	ns.forgetStray(p, tx)
	k.unplaced.forget(p)
	p.setMemberships(nil)
	k.forgetIfEmpty(namespace)
}

// update turns p into view. Memberships are worked out anew only if they may have changed, and it joins groups anew only if it may
// count elsewhere: in other groups, or on another node.
func (k *knowledge) update(n *namespace, p, view *pod, replace bool, tx *transaction) {
	k.interner.Intern(view.Pod, p.Pod)
	k.unplaced.forget(p) // under the version that it was entered with
	view.inheritFrom(p)
	mayBeLifted := len(k.settings.published(p.published, view.UID).lift) > 0
	view.GateLifted = view.UID == p.UID && p.GateLifted || mayBeLifted && len(p.Gates()) > len(view.Gates())
	moves := replace || view.Node != p.Node
	k.workloads.countOnNode(p, -1, tx)
	if moves {
		k.leave(p, tx)
	}
	n.forgetStray(p, tx)
	before := *p
	*p = *view
	k.nodes.movePod(p, before.runsOn(), p.runsOn())
	if p.places = before.places; replace {
		p.setMemberships(n.place(p))
	}
	n.reviewStray(p, tx)
	k.reviewStart(p, before.memberships(), before.UID != p.UID)
	if p.Bound() && (!before.Bound() || before.UID != p.UID) {
		k.queueOrderChecks(p, tx)
	}
	k.workloads.countOnNode(p, +1, tx)
	switch {
	case !moves:
		p.mark(tx)
	case before.UID != p.UID:
		k.join(p, nil, tx)
	default:
		k.join(p, &before, tx)
	}
	k.unplaced.enter(p, k.settings.needs(p))
}

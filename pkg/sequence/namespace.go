package sequence

import (
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/spec"
)

// namespace has the pods of one namespace and the sequences that speak of them.
type namespace struct {
	pods map[string]*pod
	// selecting are the sequences that have a group by label, naming those that name a pod.
	selecting map[*sequence]struct{}
	naming    map[string]map[*sequence]struct{}
	// sequences are all of them, also those that have no members, with the groups that may have some here. matchCost is what it
	// costs to match a pod with them.
	sequences map[*sequence]spec.Reach
	matchCost int
}

// place works out the pod's memberships from its name and labels.
func (n *namespace) place(p *pod) []membership {
	var memberships []membership
	for s := range n.selecting {
		if m, ok := s.place(p, n.sequences[s]); ok {
			memberships = append(memberships, m)
		}
	}
	for s := range n.naming[p.Name] {
		if _, done := n.selecting[s]; done {
			continue
		}
		if m, ok := s.place(p, n.sequences[s]); ok {
			memberships = append(memberships, m)
		}
	}
	return memberships
}

// update turns p into view. Sums are kept by taking the old state out and entering the new; memberships are worked out
// anew only if they may have changed.
func (k *knowledge) update(n *namespace, p, view *pod, replace bool, prepared *equivalenceClass, tx *transaction) {
	memberships := p.memberships
	k.shared.Keep(&view.Pod, &p.Pod)
	if view.Bound() {
		k.forgetAskedPod(p)
	}
	view.follow(p, replace, tx)
	k.withdraw(p, tx)
	if view.Bound() {
		k.declassify(p)
	}
	before := *p
	*p = *view
	if p.memberships = memberships; replace {
		p.memberships = n.place(p)
		k.endDryRuns(p, memberships, before.UID != p.UID)
	}
	k.enlist(p, tx)
	for _, m := range p.memberships {
		if before.UID != p.UID {
			k.join(p, m, nil)
		} else {
			k.join(p, m, &before)
		}
	}
	k.classify(p, prepared)
}

// withdraw takes the pod out of the sums that count it.
func (k *knowledge) withdraw(p *pod, tx *transaction) {
	for _, m := range p.memberships {
		k.leave(p, m)
	}
	k.delist(p, tx)
}

// enlist makes a pod known to its owner.
func (k *knowledge) enlist(p *pod, tx *transaction) {
	k.countOnNode(p, +1, tx)
	if len(p.memberships) == 0 {
		return
	}
	k.joinPodGroups(p)
	if p.Owner.UID != "" {
		insert(k.workloads.ownedPods, p.Owner.UID, p)
	}
}

// delist undoes enlist.
func (k *knowledge) delist(p *pod, tx *transaction) {
	k.countOnNode(p, -1, tx)
	if len(p.memberships) == 0 {
		return
	}
	k.leavePodGroups(p)
	if p.Owner.UID != "" {
		remove(k.workloads.ownedPods, p.Owner.UID, p)
	}
}

// countOnNode keeps count of the pods that a DaemonSet has on a node, whatever their labels: while it has one it makes no
// other.
func (k *knowledge) countOnNode(p *pod, sign int, tx *transaction) {
	if !p.Bound() || p.Terminating || p.Failed || p.Owner.UID == "" {
		return
	}
	w := k.workloads.byUID[p.Owner.UID]
	if w == nil || w.Kind != inventory.KindDaemonSet {
		return
	}
	bump(&w.onNode, p.Node, sign)
	for s, demand := range w.demands {
		if s.PerNode {
			tx.touchGroup(s.domains[p.Node], demand.group)
		}
	}
}

// podsIn are the pods of a namespace by name.
func (k *knowledge) podsIn(namespace string) map[string]*pod {
	if ns := k.namespaces[namespace]; ns != nil {
		return ns.pods
	}
	return nil
}

func (k *knowledge) namespaceFor(name string) *namespace {
	ns := k.namespaces[name]
	if ns == nil {
		ns = &namespace{
			pods:      map[string]*pod{},
			selecting: map[*sequence]struct{}{},
			naming:    map[string]map[*sequence]struct{}{},
			sequences: map[*sequence]spec.Reach{},
		}
		k.namespaces[name] = ns
	}
	return ns
}

func (k *knowledge) forgetIfEmpty(name string, ns *namespace) {
	if len(ns.pods) == 0 && len(ns.sequences) == 0 {
		delete(k.namespaces, name)
		delete(k.unconfirmed, name)
	}
}

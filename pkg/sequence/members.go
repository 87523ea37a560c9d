package sequence

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/spec"
)

// addMembers makes a sequence known to a namespace, and enters the pods and workloads there that belong to it. affected gets the pods.
func (k *knowledge) addMembers(s *sequence, name string, groups spec.GroupSet, affected map[*pod]struct{}, tx *transaction) {
	k.namespaces.enter(s, name, groups, tx)
	for w := range k.workloads.byNamespace[name] {
		k.placeIn(w, s, false, tx)
	}
	for _, p := range k.namespaces[name].pods {
		if m, ok := s.place(p, groups); ok {
			affected[p] = struct{}{}
			k.add(p, m, tx)
			k.namespaces[name].reviewStray(p, tx)
		}
	}
}

// removeMembers undoes addMembers.
func (k *knowledge) removeMembers(s *sequence, name string, affected map[*pod]struct{}, tx *transaction) {
	for _, p := range k.namespaces[name].pods {
		if _, is := p.membershipIn(s); is {
			affected[p] = struct{}{}
			tx.markDirty(s.domainOf(p))
			k.drop(p, s, tx)
			k.namespaces[name].reviewStray(p, tx)
		}
	}
	for w := range k.workloads.byNamespace[name] {
		if demand := w.demands[s]; demand != nil {
			k.workloads.withdrawDemand(demand, tx)
		}
	}
	k.namespaces.leave(s, name, tx)
}

// add enters a pod into a sequence, drop takes it out.
func (k *knowledge) add(p *pod, m membership, tx *transaction) {
	p.setMemberships(append(p.memberships(), m))
	if len(p.memberships()) == 1 {
		k.link(p, +1, tx)
	}
	k.workloads.join(p, m, p, tx) // that it is ready is no news
}

func (k *knowledge) drop(p *pod, s *sequence, tx *transaction) {
	for i, m := range p.memberships() {
		if m.sequence == s {
			k.workloads.leave(p, m, tx)
			k.unplaced.forget(p)
			if len(p.memberships()) == 1 {
				k.link(p, -1, tx)
			}
			p.setMemberships(append(p.memberships()[:i:i], p.memberships()[i+1:]...))
			return
		}
	}
}

// review has a pod judged anew whose memberships may have changed.
func (k *knowledge) review(p *pod, tx *transaction) {
	k.unplaced.enter(p, k.settings.needs(p))
	tx.dirtyPods = append(tx.dirtyPods, p)
}

// link makes a pod that belongs to some sequence known to its owner, or takes it from there if sign is -1.
func (k *knowledge) link(p *pod, sign int, tx *transaction) {
	if len(p.memberships()) == 0 || p.OwnerUID == "" {
		return
	}
	if sign > 0 {
		k.workloads.ownedPods.add(p.OwnerUID, p)
	} else {
		k.workloads.ownedPods.remove(p.OwnerUID, p)
	}
	k.workloads.countRevision(p, sign, tx)
}

// join makes the pod a member of its groups. before is the same pod as it was, or nil.
func (k *knowledge) join(p, before *pod, tx *transaction) {
	k.link(p, +1, tx)
	for _, m := range p.memberships() {
		k.workloads.join(p, m, before, tx)
	}
}

// leave undoes join.
func (k *knowledge) leave(p *pod, tx *transaction) {
	for _, m := range p.memberships() {
		k.workloads.leave(p, m, tx)
	}
	k.link(p, -1, tx)
}

func (k *knowledge) forgetIfEmpty(name string) {
	if ns := k.namespaces[name]; ns != nil && len(ns.pods) == 0 && len(ns.sequences) == 0 {
		delete(k.namespaces, name)
	}
}

func (k *knowledge) placeIn(w *workload, s *sequence, completed bool, tx *transaction) {
	if !w.Counts() {
		return
	}
	group, ok := s.GroupOfTemplate(w.Namespace, labels.Set(w.Labels), s.groupsByNamespace[w.Namespace])
	if !ok || (s.PerNode && w.Kind != inventory.KindDaemonSet) {
		return
	}
	demand := &demand{workload: w, sequence: s, group: group}
	w.demands[s] = demand
	s.groups[group].demands[demand] = struct{}{}
	if s.PerNode {
		demand.markOnNodes(tx)
		return
	}
	demand.countNames()
	demand.update(completed, tx)
}

// placeWorkload gives the workload its demand in every sequence of its namespace that selects its pods.
func (k *knowledge) placeWorkload(w *workload, completed bool, tx *transaction) {
	ns := k.namespaces[w.Namespace]
	if ns == nil || !w.Counts() {
		return
	}
	for s := range ns.sequences {
		k.placeIn(w, s, completed, tx)
	}
}

// markNamingDirty marks for re-evaluation the pods that name a sequence which came or went.
func (k *knowledge) markNamingDirty(key types.NamespacedName, tx *transaction) {
	for _, p := range k.namespaces.pods(key.Namespace) {
		if !p.Bound() && spec.NamedSequence(&p.Labels) == key.Name {
			tx.dirtyPods = append(tx.dirtyPods, p)
		}
	}
}

// markUnselectedDirty marks for re-evaluation the pods of a namespace that no sequence selects.
func (k *knowledge) markUnselectedDirty(namespace string, tx *transaction) {
	tx.requiring = append(tx.requiring, namespace)
	for _, p := range k.namespaces.pods(namespace) {
		if !p.Bound() && len(p.memberships()) == 0 {
			tx.dirtyPods = append(tx.dirtyPods, p)
		}
	}
}

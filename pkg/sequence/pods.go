package sequence

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/spec"
)

func (p *pod) key() types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// setMemberships gives the pod its places. Most pods have one, and all that have only that share it.
func (p *pod) setMemberships(memberships []membership) {
	switch len(memberships) {
	case 0:
		p.places = nil
	case 1:
		p.places = memberships[0].sequence.groups[memberships[0].group].onlyPlace
	default:
		p.places = &memberships
	}
}

// viewPod is the pod as the engine has not entered it yet.
func viewPod(object *corev1.Pod) *pod { return withFacts(inventory.ViewPod(object)) }

// withFacts is viewPod for facts that are known.
func withFacts(facts inventory.Pod) *pod {
	view := &pod{Pod: &facts, unbound: bound}
	if !view.Bound() {
		view.unbound = &unbound{}
	}
	return view
}

// inheritFrom copies to a view what was known of the pod that it replaces.
func (p *pod) inheritFrom(before *pod) {
	if p.Bound() {
		if before.published != nil {
			p.unbound = &unbound{published: before.published} // until the transaction is settled, see published.withdraw
		}
		return
	}
	p.published, p.opened = before.published, before.opened
	if before.Pin() != p.Pin() {
		p.opened++
	}
}

// place works out the pod's memberships from its name and labels.
func (n *namespace) place(p *pod) (memberships []membership) {
	for s, groups := range n.sequences {
		if m, ok := s.place(p, groups); ok {
			memberships = append(memberships, m)
		}
	}
	return memberships
}

// pods are the pods of a namespace by name.
func (all namespaces) pods(namespace string) map[string]*pod {
	if ns := all[namespace]; ns != nil {
		return ns.pods
	}
	return nil
}

func (all namespaces) ensure(name string) *namespace {
	ns := all[name]
	if ns == nil {
		ns = &namespace{
			pods:      map[string]*pod{},
			strays:    map[string]map[*pod]struct{}{},
			sequences: map[*sequence]spec.GroupSet{},
		}
		all[name] = ns
	}
	return ns
}

// find is the pod as the engine knows it, or as much of it as can be worked out from the object.
func (k *knowledge) find(object *corev1.Pod) (p *pod, known bool) {
	ns := k.namespaces[object.Namespace]
	if ns != nil {
		p = ns.pods[object.Name]
	}
	if p != nil && !inventory.Newer(object.ResourceVersion, p.ResourceVersion) {
		return p, true
	}
	unseen := viewPod(object)
	unseen.OfHook = k.workloads.isOfHook(unseen.Pod)
	if p != nil && p.UID == object.UID && p.SameVerdict(unseen.Pod) {
		return p, true
	}
	if ns != nil {
		unseen.setMemberships(ns.place(unseen))
	}
	return unseen, false
}

// enter makes the sequence known to a namespace. Pods and workloads come later.
func (all namespaces) enter(s *sequence, name string, groups spec.GroupSet, tx *transaction) {
	ns := all.ensure(name)
	s.groupsByNamespace[name], ns.sequences[s] = groups, groups
	ns.matchCost += s.MatchCost()
	tx.namespaces = append(tx.namespaces, name)
}

// leave undoes enter.
func (all namespaces) leave(s *sequence, name string, tx *transaction) {
	ns := all[name]
	delete(s.groupsByNamespace, name)
	delete(ns.sequences, s)
	ns.matchCost -= s.MatchCost()
	tx.namespaces = append(tx.namespaces, name)
}

// membershipIn returns the pod's place in a sequence, if it has one.
func (p *pod) membershipIn(s *sequence) (membership, bool) {
	for _, m := range p.memberships() {
		if m.sequence == s {
			return m, true
		}
	}
	return membership{}, false
}

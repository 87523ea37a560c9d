package sequence

import (
	"iter"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/spec"
)

// namespace holds the pods of one namespace and the sequences that reach it.
type namespace struct {
	pods map[string]*pod
	// selecting are the sequences that have a group by label, naming those that name a pod.
	selecting map[*sequence]struct{}
	naming    map[string]map[*sequence]struct{}
	// sequences are all of them, also those that have no members, with the groups that may have some here. matchCost is what it
	// costs to match a pod with them.
	sequences map[*sequence]spec.NamespaceGroups
	matchCost int
}

// namespaces are those that have pods or that sequences reach, by name.
type namespaces map[string]*namespace

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
			selecting: map[*sequence]struct{}{},
			naming:    map[string]map[*sequence]struct{}{},
			sequences: map[*sequence]spec.NamespaceGroups{},
		}
		all[name] = ns
	}
	return ns
}

// find is the pod as the engine knows it, or as much of it as can be worked out from the object.
func (all namespaces) find(object *corev1.Pod) (p *pod, known bool) {
	ns := all[object.Namespace]
	if ns == nil {
		return viewPod(object), false
	}
	p = ns.pods[object.Name]
	if p != nil && !inventory.Newer(object.ResourceVersion, p.ResourceVersion) {
		return p, true
	}
	unseen := viewPod(object)
	if p != nil && p.UID == object.UID && p.SameVerdict(&unseen.VerdictFacts) {
		return p, true
	}
	unseen.setMemberships(ns.place(unseen))
	return unseen, false
}

// podsOf are the pods of a namespace, or of all if the name is empty.
func (all namespaces) podsOf(namespace string) iter.Seq[*pod] {
	if namespace != "" {
		return maps.Values(all.pods(namespace))
	}
	return func(yield func(*pod) bool) {
		for _, ns := range all {
			for _, p := range ns.pods {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// enter makes the sequence known to a namespace. Pods and workloads come later.
func (all namespaces) enter(s *sequence, name string, groups spec.NamespaceGroups, tx *transaction) {
	ns := all.ensure(name)
	s.groupsByNamespace[name], ns.sequences[s] = groups, groups
	ns.matchCost += s.MatchCost()
	tx.namespaces = append(tx.namespaces, name)
	if s.Selects(groups) {
		ns.selecting[s] = struct{}{}
	}
	for pod := range s.Names(name) {
		insert(ns.naming, pod, s)
	}
	for i, g := range s.groups {
		if groups.Has(i) {
			g.namespaces[name] = struct{}{}
		}
	}
}

// leave undoes enter.
func (all namespaces) leave(s *sequence, name string, tx *transaction) {
	ns := all[name]
	delete(s.groupsByNamespace, name)
	delete(ns.sequences, s)
	ns.matchCost -= s.MatchCost()
	tx.namespaces = append(tx.namespaces, name)
	delete(ns.selecting, s)
	for pod := range s.Names(name) {
		remove(ns.naming, pod, s)
	}
	for _, g := range s.groups {
		delete(g.namespaces, name)
	}
}

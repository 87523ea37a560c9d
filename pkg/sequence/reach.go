package sequence

import (
	"example.com/podsequence/pkg/sequence/confirmation"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/spec"
)

// A sequence reaches a namespace if some of its groups may have members there. A PodSequence reaches its target namespace, with
// all its groups. A ClusterPodSequence reaches the namespaces that its groups name, whether they exist or not, and those whose
// labels its groups select, as far as the engine knows of them. What happens in a namespace that a sequence does not reach costs
// that sequence nothing.

// enterNamespaces makes a new sequence known to all namespaces that it reaches.
func (k *knowledge) enterNamespaces(s *sequence, tx *transaction) {
	enter := func(name string) {
		if groups := k.consents.groupsIn(s, name); !groups.IsEmpty() {
			k.namespaces.enter(s, name, groups, tx)
		}
	}
	for name := range s.NamedNamespaces() {
		enter(name)
	}
	if s.SelectsNamespaces() {
		for name := range k.consents.facts {
			if _, entered := s.groupsByNamespace[name]; !entered {
				enter(name)
			}
		}
		k.selectors[s] = struct{}{}
		k.published.selectors.Store(true) // before any pod is published as released because of it
	}
	s.refreshSubjects()
}

// groupsIn returns the groups of the sequence that may have members in a namespace, as far as the engine knows of it. A Namespace without a
// version is one of which only the name is known.
func (c *consents) groupsIn(s *sequence, name string) spec.NamespaceGroups {
	facts := c.facts[name]
	return s.GroupsIn(name, facts.labels, facts.version != "")
}

// changeGroupsIn changes which groups of a sequence have members in a namespace.
func (k *knowledge) changeGroupsIn(s *sequence, name string, groups spec.NamespaceGroups, tx *transaction) {
	// The pods and workloads that come or go with the namespace are as of now, and not as of the event: that may be late.
	now := k.questions.nowMoment()
	before := s.groupsByNamespace[name]
	s.outOfOrder.checks = false // of namespaces that it comes to reach later it checks no pods
	ns := k.namespaces.ensure(name)
	pods := map[*pod]struct{}{}
	for _, p := range ns.pods {
		if p.isMemberOf(s) {
			pods[p] = struct{}{}
			p.markDirty(tx)
			k.drop(p, s, tx)
		}
	}
	for w := range k.workloads.byNamespace[name] {
		if demand := w.demands[s]; demand != nil {
			k.workloads.withdrawDemand(demand, tx)
		}
	}
	if !before.IsEmpty() {
		k.namespaces.leave(s, name, tx)
	}
	if !groups.IsEmpty() {
		k.namespaces.enter(s, name, groups, tx)
		for w := range k.workloads.byNamespace[name] {
			k.placeIn(w, s, false, tx)
		}
		k.addMembersIn(s, ns, pods, tx)
	}
	s.refreshSubjects()
	s.reconfirmGroups(before, groups, now, tx)
	for p := range pods {
		p.markDirty(tx)
		p.recordProofs(tx)
		if s.dry != nil && !p.isMemberOf(s) {
			s.dry.forget(p, k.now)
		}
		k.reviewStart(p, []membership{{sequence: s}}, false)
		if !p.Bound() {
			p.placed = p.placed.And(tx.Question).And(now)
		}
		k.nodes.classify(p, k.settings.needs(p), nil)
		tx.dirtyPods = append(tx.dirtyPods, p)
	}
	if u := k.questions.unconfirmed[name]; u != nil { // who waits for an answer about this namespace may not need it any more
		for p := range u.pods {
			tx.dirtyPods = append(tx.dirtyPods, p)
		}
	}
	k.forgetIfEmpty(name, ns)
}

// reconfirmGroups asks for another confirmation of the groups that have members in a namespace from now on, or have none there
// any more: their confirmations were about other namespaces. It no longer counts that they were satisfied for a moment: an event
// from before that moment, which says otherwise, does not concern them if it comes after the namespace has left.
func (s *sequence) reconfirmGroups(before, after spec.NamespaceGroups, now Question, tx *transaction) {
	for _, d := range s.domains {
		for _, state := range d.groupStates {
			if before.Has(state.group) != after.Has(state.group) {
				state.dirty, state.lastNeed, state.changed = true, readiness.Need{Required: -1}, state.changed.And(now)
				state.witness = confirmation.Witness{}
				tx.markDirty(d)
			}
		}
		if d.unconfirmed {
			tx.markDirty(d)
		}
	}
}

// addMembers enters all pods into the sequence that belong to it. pods gets them.
func (k *knowledge) addMembers(s *sequence, pods map[*pod]struct{}, tx *transaction) {
	for name := range s.groupsByNamespace {
		k.addMembersIn(s, k.namespaces[name], pods, tx)
	}
}

func (k *knowledge) addMembersIn(s *sequence, ns *namespace, pods map[*pod]struct{}, tx *transaction) {
	groups := ns.sequences[s]
	for _, p := range ns.pods {
		if m, ok := s.place(p, groups); ok {
			pods[p] = struct{}{}
			k.add(p, m, tx)
		}
	}
}

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

// groupsOf returns the groups of the sequence that may have members, by namespace, as far as the engine knows of namespaces.
func (c *consents) groupsOf(s *sequence) map[string]spec.NamespaceGroups {
	all := map[string]spec.NamespaceGroups{}
	add := func(name string) {
		if groups := c.groupsIn(s, name); !groups.IsEmpty() {
			all[name] = groups
		}
	}
	for name := range s.NamedNamespaces() {
		add(name)
	}
	if s.SelectsNamespaces() {
		for name := range c.facts {
			add(name)
		}
	}
	return all
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
	affected := map[*pod]struct{}{}
	if !before.IsEmpty() {
		k.removeMembers(s, name, affected, tx)
	}
	if !groups.IsEmpty() {
		k.addMembers(s, name, groups, affected, tx)
	}
	s.refreshSubjects()
	s.reconfirmGroups(before, groups, now, tx)
	for p := range affected {
		p.recordProofs(tx)
		if s.dry != nil && !p.isMemberOf(s) {
			s.dry.forget(p, k.now)
		}
		k.reviewStart(p, []membership{{sequence: s}}, false)
		k.review(p, tx.Question.And(now), tx)
	}
	if u := k.questions.unconfirmed[name]; u != nil { // who waits for an answer about this namespace may not need it any more
		for p := range u.pods {
			tx.dirtyPods = append(tx.dirtyPods, p)
		}
	}
	k.forgetIfEmpty(name)
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

// addMembers makes a sequence known to a namespace, and enters the pods and workloads there that belong to it. affected gets the pods.
func (k *knowledge) addMembers(s *sequence, name string, groups spec.NamespaceGroups, affected map[*pod]struct{}, tx *transaction) {
	k.namespaces.enter(s, name, groups, tx)
	for w := range k.workloads.byNamespace[name] {
		k.placeIn(w, s, false, tx)
	}
	for _, p := range k.namespaces[name].pods {
		if m, ok := s.place(p, groups); ok {
			affected[p] = struct{}{}
			k.add(p, m, tx)
		}
	}
}

// removeMembers undoes addMembers.
func (k *knowledge) removeMembers(s *sequence, name string, affected map[*pod]struct{}, tx *transaction) {
	for _, p := range k.namespaces[name].pods {
		if p.isMemberOf(s) {
			affected[p] = struct{}{}
			tx.markDirty(s.domainOf(p))
			k.drop(p, s, tx)
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
		k.link(p, tx)
	}
	k.workloads.join(p, m, p, tx) // that it is ready is no news
}

func (k *knowledge) drop(p *pod, s *sequence, tx *transaction) {
	for i, m := range p.memberships() {
		if m.sequence == s {
			k.workloads.leave(p, m, tx)
			k.nodes.declassify(p)
			if len(p.memberships()) == 1 {
				k.unlink(p, tx)
			}
			p.setMemberships(append(p.memberships()[:i:i], p.memberships()[i+1:]...))
			return
		}
	}
}

// review has a pod judged anew whose memberships may have changed, as of a moment.
func (k *knowledge) review(p *pod, asOf Question, tx *transaction) {
	if !p.Bound() {
		p.placed = p.placed.And(asOf)
	}
	k.nodes.classify(p, k.settings.needs(p), nil)
	tx.dirtyPods = append(tx.dirtyPods, p)
}

package sequence

import (
	"maps"
	"time"

	"example.com/podsequence/pkg/sequence/confirmation"
	"example.com/podsequence/pkg/sequence/readiness"
	"example.com/podsequence/pkg/sequence/spec"
)

// A sequence reaches a namespace if some of its groups may have members there. A PodSequence reaches its target namespace, with
// all its groups. A ClusterPodSequence reaches the namespaces that its groups name, whether they exist or not, and those whose
// labels its groups select, as far as the engine knows of them. What happens in a namespace that a sequence does not reach costs
// that sequence nothing.

// reachAll makes a new sequence known to all namespaces that it reaches.
func (k *knowledge) reachAll(s *sequence, tx *transaction) {
	enter := func(name string) {
		if reach := k.consents.reachOf(s, name); !reach.IsEmpty() {
			k.namespaces.enter(s, name, reach, tx)
		}
	}
	for name := range s.NamedNamespaces() {
		enter(name)
	}
	if s.SelectsNamespaces() {
		for name := range k.consents.lists {
			if _, entered := s.reaches[name]; !entered {
				enter(name)
			}
		}
		k.selectors[s] = struct{}{}
		k.published.selectors.Store(true) // before any pod is published as released because of it
	}
	s.refreshSubjects()
}

// reachOf is which groups of the sequence may have members in a namespace, as far as the engine knows of it. A Namespace without a
// version is one of which only the name is known.
func (c *consents) reachOf(s *sequence, name string) spec.Reach {
	facts := c.lists[name]
	return s.Reach(name, facts.labels, facts.version != "")
}

// relabel has the sequences that select namespaces look at one that came, went, or changed its labels.
func (k *knowledge) relabel(name string, tx *transaction) {
	for s := range k.selectors {
		if reach := k.consents.reachOf(s, name); !reach.Equal(s.reaches[name]) {
			k.changeReach(s, name, reach, tx)
		}
	}
}

// changeReach has other groups of a sequence than before have members in a namespace.
func (k *knowledge) changeReach(s *sequence, name string, reach spec.Reach, tx *transaction) {
	// The pods and workloads that come or go with the namespace are as of now, and not as of the event: that may be late.
	now := k.questions.nowMoment()
	before := s.reaches[name]
	ns := k.namespaces.get(name)
	pods := map[*pod]struct{}{}
	for _, p := range ns.pods {
		if p.isMemberOf(s) {
			pods[p] = struct{}{}
			p.touch(tx)
			k.drop(p, s, tx)
		}
	}
	for w := range k.workloads.of[name] {
		if demand := w.demands[s]; demand != nil {
			k.workloads.withdrawDemand(demand, tx)
		}
	}
	if !before.IsEmpty() {
		k.namespaces.leave(s, name, tx)
	}
	if !reach.IsEmpty() {
		k.namespaces.enter(s, name, reach, tx)
		for w := range k.workloads.of[name] {
			k.placeIn(w, s, false, tx)
		}
		k.addMembersIn(s, ns, pods, tx)
	}
	s.refreshSubjects()
	s.confirmGroupsAnew(before, reach, now, tx)
	for p := range pods {
		p.touch(tx)
		p.recordProofs(tx)
		if s.dry != nil && !p.isMemberOf(s) {
			s.dry.forget(p, k.now)
		}
		if !p.Bound() {
			p.placed = p.placed.And(tx.Question).And(now)
		}
		k.nodes.classify(p, k.settings.needs(p), nil)
		tx.pods = append(tx.pods, p)
	}
	if u := k.questions.unconfirmed[name]; u != nil { // who waits for an answer about this namespace may not need it any more
		for p := range u.pods {
			tx.pods = append(tx.pods, p)
		}
	}
	k.forgetIfEmpty(name, ns)
}

// confirmGroupsAnew has the groups confirmed anew that have members in a namespace from now on, or have none there any more: what was
// confirmed of them was about other namespaces. That they were satisfied for a moment does not count any more: an event from before
// that moment, which says otherwise, does not concern them if it comes after the namespace has left.
func (s *sequence) confirmGroupsAnew(before, after spec.Reach, now Question, tx *transaction) {
	for _, d := range s.domains {
		for _, state := range d.groupStates {
			if before.Has(state.group) != after.Has(state.group) {
				state.dirty, state.needThen, state.changed = true, readiness.Need{Required: -1}, state.changed.And(now)
				state.witness = confirmation.Witness{}
				tx.touch(d)
			}
		}
		if d.unconfirmed {
			tx.touch(d)
		}
	}
}

// isMemberOf reports whether the pod belongs to a sequence.
func (p *pod) isMemberOf(s *sequence) bool {
	for _, m := range p.memberships {
		if m.sequence == s {
			return true
		}
	}
	return false
}

// addMembers enters all pods into the sequence that belong to it. pods gets them.
func (k *knowledge) addMembers(s *sequence, pods map[*pod]struct{}, tx *transaction) {
	for name := range s.reaches {
		k.addMembersIn(s, k.namespaces[name], pods, tx)
	}
}

func (k *knowledge) addMembersIn(s *sequence, ns *namespace, pods map[*pod]struct{}, tx *transaction) {
	reach := ns.sequences[s]
	for _, p := range ns.pods {
		if m, ok := s.place(p, reach); ok {
			pods[p] = struct{}{}
			k.add(p, m, tx)
		}
	}
}

// list makes the sequence known to its namespaces, with its domains and the workloads it selects, but no pods yet. A namespace
// that does not allow the sequence knows nothing of it.
func (k *knowledge) list(s *sequence, tx *transaction) {
	k.sequences[s.Key] = s
	s.listed, s.podGroupsKnown, s.knowledge, s.listedAt = true, k.podGroups, k, k.questions.moment.Load()
	k.consents.list(s)
	if s.refused() {
		k.published.refusing.Store(s.Namespace, nil) // before any pod is published as released because of it
		s.domainAt("")
		return
	}
	k.reachAll(s, tx)
	s.domainAt("")
	if s.PerNode {
		k.perNode[s] = struct{}{}
		for _, g := range s.groups {
			g.watchedSince = k.now.Truncate(time.Second)
		}
		if s.Eager {
			for name := range k.nodes.byName {
				s.domainAt(name)
			}
		}
	}
	for name := range s.reaches {
		for w := range k.workloads.of[name] {
			k.placeIn(w, s, false, tx)
		}
	}
}

// unlist undoes list.
func (k *knowledge) unlist(s *sequence, tx *transaction) {
	delete(k.sequences, s.Key)
	delete(k.perNode, s)
	delete(k.selectors, s)
	s.listed = false
	for _, d := range s.domains {
		k.alarms.Set(&d.alarm, time.Time{})
		k.questions.forgetAsked(d)
	}
	k.consents.unlist(s)
	if s.refused() {
		tx.namespaces = append(tx.namespaces, s.Namespace)
		return
	}
	for _, g := range s.groups {
		for demand := range g.demands {
			delete(demand.workload.demands, s)
			k.workloads.forgetDue(demand.workload)
		}
	}
	for name := range maps.Clone(s.reaches) {
		k.namespaces.leave(s, name, tx)
		k.forgetIfEmpty(name, k.namespaces[name])
	}
}

package sequence

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/spec"
)

// replaceSequences enters all sequences that there are, of PodSequences or of ClusterPodSequences.
func (k *knowledge) replaceSequences(objects []spec.Stored, cluster bool, tx *transaction) {
	present := make(map[types.NamespacedName]struct{}, len(objects))
	for _, ps := range objects {
		key := types.NamespacedName{Namespace: ps.Namespace, Name: ps.Name}
		present[key] = struct{}{}
		if s := k.sequences[key]; s != nil && s.UID == ps.UID {
			tx.compareListed(s.object.ResourceVersion, ps.ResourceVersion)
		}
		k.applySequence(ps, tx)
	}
	for key, s := range k.sequences {
		if _, ok := present[key]; !ok && s.Cluster == cluster {
			k.replaceSequence(s, nil, tx)
		}
	}
}

func (k *knowledge) applySequence(stored spec.Stored, tx *transaction) {
	ps := stored.PodSequence
	key := types.NamespacedName{Namespace: ps.Namespace, Name: ps.Name}
	old := k.sequences[key]
	if old != nil && old.UID == ps.UID && ps.ResourceVersion != "" && !inventory.Newer(ps.ResourceVersion, old.object.ResourceVersion) {
		return
	}
	if old != nil && old.UID == ps.UID && old.Generation == ps.Generation {
		resumed, records, released := old.resumedAt(), old.nodeRecords, old.firstReleased.Load()
		old.object, old.cluster = ps, stored.Cluster
		old.restoreFromStatus()
		k.restoreFailures(old, tx)
		for _, d := range old.domains {
			was, is := records[d.name], old.nodeRecords[d.name]
			if !d.isNode() || !sameTimeOuts(was, is) || (was != nil && is == nil) || !old.resumedAt().Equal(resumed) {
				tx.markDirty(d)
			}
		}
		if old.firstReleased.Load() && !released {
			old.firstReleased.Store(false)
			old.noteFirstReleased(tx)
		}
		return
	}
	next := newSequence(spec.Compile(stored, k.settings.GatePrefixes).InstalledIn(k.settings.InstallationNamespace), ps, stored.Cluster)
	k.consents.checkConsent(next, old, k.now)
	k.replaceSequence(old, next, tx)
}

// sameTimeOuts reports whether two records of a node say the same of time-outs; either may be nil.
func sameTimeOuts(a, b *v1alpha1.NodeStatus) bool {
	if a == nil {
		a = &v1alpha1.NodeStatus{}
	}
	if b == nil {
		b = &v1alpha1.NodeStatus{}
	}
	return slices.Equal(a.TimedOut, b.TimedOut) && slices.Equal(a.ReadyBefore, b.ReadyBefore)
}

// replaceSequence puts next in the place of old; either may be nil.
func (k *knowledge) replaceSequence(old, next *sequence, tx *transaction) {
	k.settleSums(tx) // of what was entered before: they may be inherited
	pods := map[*pod]struct{}{}
	inherit := old != nil && next != nil && next.hasMembersOf(old)
	if old != nil {
		tx.edited = append(tx.edited, old.Key)
		pods = old.members()
		for p := range pods {
			if !inherit {
				k.drop(p, old, tx)
			}
		}
		k.unregister(old, tx)
	}
	if next != nil {
		tx.edited = append(tx.edited, next.Key)
		next.setSinceVersion(old, tx)
		k.register(next, tx)
		if inherit {
			next.inheritMembers(old)
		} else {
			k.addMembers(next, pods, tx)
		}
		if old != nil && !old.refused() && !next.refused() {
			next.inheritProgress(old, k)
			k.inheritFailures(next, old, tx)
		}
		next.restoreFromStatus()
		k.restoreFailures(next, tx)
		next.inheritDryRun(old, k.now)
		k.beginOrderChecks(next, old, pods, tx)
		for p := range pods {
			p.recordProofs(tx)
		}
		if old != nil {
			next.reconfirmPasses(old)
		}
		for _, d := range next.domains {
			d.published.Released, d.published.unpublished = 0, true // every member is looked at by itself
			tx.markDirty(d)
		}
	}
	for p := range pods {
		if next != nil {
			next.restoreDryRun(p)
			if old == nil || old.UID != next.UID {
				tx.newlySeen = append(tx.newlySeen, podInSequence{p, next})
			}
		}
		if !p.Bound() {
			p.placed = p.placed.And(tx.Question)
		}
		k.nodes.classify(p, k.settings.needs(p), nil)
		tx.dirtyPods = append(tx.dirtyPods, p)
	}
	if next != nil && next.dry != nil {
		next.dry.recorded = nil
	}
	switch {
	case old == nil && next != nil:
		k.markNamingDirty(next.Key, tx)
	case old != nil && next == nil:
		k.markNamingDirty(old.Key, tx)
	}
}

// members are the pods of all groups.
func (s *sequence) members() map[*pod]struct{} {
	all := map[*pod]struct{}{}
	for _, d := range s.domains {
		for _, state := range d.groupStates {
			for p := range state.members {
				all[p] = struct{}{}
			}
		}
	}
	return all
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

// register makes the sequence known to its namespaces, with its domains and the workloads it selects, but no pods yet. A namespace
// that does not allow the sequence knows nothing of it.
func (k *knowledge) register(s *sequence, tx *transaction) {
	k.sequences[s.Key] = s
	s.registered, s.podGroupsKnown, s.knowledge, s.registeredAt = true, k.podGroups, k, k.questions.moment.Load()
	k.consents.register(s)
	if s.refused() {
		k.published.refusing.Store(s.Namespace, nil) // before any pod is published as released because of it
		s.domainAt("")
		return
	}
	k.enterNamespaces(s, tx)
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
	for name := range s.groupsByNamespace {
		for w := range k.workloads.byNamespace[name] {
			k.placeIn(w, s, false, tx)
		}
	}
}

// unregister undoes register.
func (k *knowledge) unregister(s *sequence, tx *transaction) {
	delete(k.sequences, s.Key)
	delete(k.perNode, s)
	delete(k.selectors, s)
	s.registered = false
	for _, d := range s.domains {
		k.alarms.Set(&d.alarm, time.Time{})
		k.questions.forgetDomain(d)
	}
	k.forgetFailures(s)
	k.consents.unregister(s)
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
	for name := range maps.Clone(s.groupsByNamespace) {
		k.namespaces.leave(s, name, tx)
		k.forgetIfEmpty(name, k.namespaces[name])
	}
}

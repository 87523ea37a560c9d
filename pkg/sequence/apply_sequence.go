package sequence

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

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
	if old != nil && old.UID == ps.UID && old.Generation == ps.Generation && reflect.DeepEqual(old.Override, spec.ReadOverride(ps, k.now)) {
		resumed, records, released := old.resumedAt(), old.nodeRecords, old.firstReleased
		old.reviewFailures(tx)
		old.object, old.cluster = ps, stored.Cluster
		old.restoreFromStatus()
		old.markObjects(old.readObjects(old, k.now), tx)
		old.reviewFailures(tx)
		for _, d := range old.domains {
			wasListed, isListed := records[d.name] != nil, old.nodeRecords[d.name] != nil
			if !d.isNode() || (wasListed && !isListed) || !old.resumedAt().Equal(resumed) {
				tx.markDirty(d)
			}
		}
		if old.firstReleased && !released {
			old.noteFirstReleased(tx)
		}
		return
	}
	k.replaceSequence(old, k.compile(stored, old), tx)
}

// compile returns the sequence that is to take the place of old, which may be nil.
func (k *knowledge) compile(stored spec.Stored, old *sequence) *sequence {
	compiled := spec.Compile(stored, k.settings.GatePrefixes, k.now).InstalledIn(k.settings.InstallationNamespace)
	next := newSequence(compiled, stored)
	k.consents.checkConsent(next, old, k.now)
	return next
}

// endOverrides puts the spec alone in the place of sequences of which the annotations count no more. What time has changed by then counts
// under the annotations still: a group that is satisfied since before must not be taken for one that the spec alone completes.
func (k *knowledge) endOverrides(tx *transaction) {
	over := slices.Collect(k.overrides.Due(k.now))
	if len(over) > 0 {
		k.settleSums(tx)
	}
	for _, s := range over {
		for _, d := range s.domains {
			d.evaluate(k)
		}
		k.replaceSequence(s, k.compile(s.stored(), s), tx)
	}
}

// stored returns the object of the sequence.
func (s *sequence) stored() spec.Stored {
	return spec.Stored{PodSequence: s.object, Cluster: s.cluster, Unreadable: s.unreadable}
}

// replaceSequence puts next in the place of old; either may be nil.
func (k *knowledge) replaceSequence(old, next *sequence, tx *transaction) {
	var names []string
	affected := map[*pod]struct{}{}
	if old != nil {
		tx.edited = append(tx.edited, old.Key)
		names = slices.Collect(maps.Keys(old.groupsByNamespace))
		for _, name := range names {
			k.removeMembers(old, name, affected, tx)
		}
		k.unregister(old, tx)
	}
	if next != nil {
		tx.edited = append(tx.edited, next.Key)
		next.setSinceVersion(old, tx)
		k.register(next, affected, tx)
		if old != nil && !old.refused() && !next.refused() {
			next.inheritProgress(old, k)
		}
		if old == nil || old.UID != next.UID {
			next.noteChangesSinceStatus(k.now)
		}
		next.restoreFromStatus()
		next.reviewFailures(tx)
		next.markObjects(next.readObjects(old, k.now), tx)
		next.beginDryRun(old)
		k.beginOrderChecks(next, old, affected, tx)
		for _, d := range next.domains {
			d.published.released, d.published.unpublished = 0, true // every member is looked at by itself
			tx.markDirty(d)
		}
	}
	for p := range affected {
		k.review(p, tx)
	}
	for _, name := range names {
		k.forgetIfEmpty(name)
	}
	switch {
	case old == nil && next != nil:
		k.markNamingDirty(next.Key, tx)
	case old != nil && next == nil:
		k.markNamingDirty(old.Key, tx)
	}
}

// register makes a sequence count, and enters its members everywhere. A namespace that does not allow the sequence knows nothing of it.
func (k *knowledge) register(s *sequence, affected map[*pod]struct{}, tx *transaction) {
	k.sequences[s.Key] = s
	s.registered, s.knowledge = true, k
	s.domainAt("")
	s.retry.Owner, s.overrideEnd.Owner = s, s
	if s.Override.IsActive() {
		k.overrides.Set(&s.overrideEnd, s.Override.Until)
	}
	if s.refused() {
		return
	}
	if s.PerNode {
		k.perNode[s] = struct{}{}
		for _, g := range s.groups {
			g.watchedSince = k.now.Truncate(time.Second)
		}
		for name := range k.nodes.byName {
			s.domainAt(name)
		}
	}
	for name, groups := range k.consents.groupsOf(s) {
		k.addMembers(s, name, groups, affected, tx)
	}
}

// unregister makes a sequence count no more. It has no members any more.
func (k *knowledge) unregister(s *sequence, tx *transaction) {
	delete(k.sequences, s.Key)
	delete(k.perNode, s)
	s.registered = false
	k.overrides.Set(&s.overrideEnd, time.Time{})
	for _, d := range s.domains {
		k.alarms.Set(&d.alarm, time.Time{})
	}
	k.retries.Set(&s.retry, time.Time{})
}

// restoreFromStatus takes from status what cannot be seen in the world any more.
func (s *sequence) restoreFromStatus() {
	if s.PerNode {
		s.nodeRecords = map[string]*v1alpha1.NodeStatus{}
		for i := range s.object.Status.NodeStatus {
			node := &s.object.Status.NodeStatus[i]
			s.nodeRecords[node.NodeName] = node
			if !s.refused() && s.knowledge.nodes.byName[node.NodeName] != nil {
				s.domainAt(node.NodeName).restoreFromRecord(node)
			}
		}
		if s.record(0).ReleasedAt != nil {
			s.firstReleased = true
		}
		return
	}
	d := s.nodeless
	for i := range s.groups {
		record := s.record(i)
		s.groups[i].failuresOverAt = latest(s.groups[i].failuresOverAt, timeOf(s.Memory(&s.object.Status, i).FailuresOverAt))
		if record.ReleasedAt != nil && s.Suspended && !s.suspendedSeen {
			d.ReleasedBefore |= s.groups[i].Predecessors
			d.ReleasedBefore.Add(i)
		}
		if lost := timeOf(s.Memory(&s.object.Status, i).LostAt); !s.refused() && d.LostAt(i).IsZero() { // else this program knows better
			switch {
			case s.Continuous && !lost.IsZero():
				if !d.Once.Has(i) {
					d.Lose(i, lost)
				}
			case record.FirstSatisfiedAt != nil:
				d.Once.Add(i)
			}
		}
		if s.Completed(&s.object.Status, i) && !s.refused() && !d.Reopened.Has(i) {
			d.Completed.Add(i)
		}
	}
}

// inheritProgress takes over what an earlier spec of the same object came to.
func (s *sequence) inheritProgress(old *sequence, k *knowledge) {
	if s.UID != old.UID || s.PerNode != old.PerNode {
		return
	}
	if old.firstReleased || !old.Suspended {
		s.firstReleased = true
	}
	s.suspendedSeen = s.Suspended && (old.suspendedSeen || !old.Suspended)
	s.gone, s.ended = old.gone, old.ended
	now, same := k.now.Truncate(time.Second), s.SameGroups(old.Sequence)
	for i, g := range s.groups {
		if same[i] < 0 {
			g.editedAt = now
			continue
		}
		before := old.groups[same[i]]
		g.watchedSince, g.editedAt = before.watchedSince, before.editedAt
		g.failuresOverAt = latest(g.failuresOverAt, before.failuresOverAt)
		if g.Awaited != same.Set(before.Awaited) {
			g.editedAt = now // what it waits for is skipped, or is not any more
		}
	}
	if s.resumedSeen = old.resumedSeen; old.Suspended && !s.Suspended {
		s.resumedSeen = now
	}
	for name, before := range old.domains {
		if d := s.domains[name]; d != nil {
			d.inheritProgress(before, same)
		}
	}
}

// noteChangesSinceStatus is for an engine that sees the sequence for the first time. What status does not say as it is now was changed
// since status was written. When, nobody has recorded: so no time-out counts from before now.
func (s *sequence) noteChangesSinceStatus(now time.Time) {
	now = now.Truncate(time.Second)
	suspended := meta.FindStatusCondition(s.object.Status.Conditions, v1alpha1.ConditionSuspended)
	if suspended == nil {
		return // it was never written
	}
	// Of two edits or more, one may have suspended the sequence and another resumed it.
	unseen := s.Generation - s.object.Status.ObservedGeneration
	if !s.Suspended && (suspended.Status == metav1.ConditionTrue || unseen > 1) {
		s.resumedSeen = now
	}
	changed := spec.GroupSet(0) // groups that are skipped now and were not, or the other way round
	for i, g := range s.groups {
		record := s.record(i)
		if record.Hash == "" || g.Predecessors&changed != 0 {
			g.editedAt = now
		}
		if record.Hash != "" && (record.Phase == v1alpha1.GroupSkipped) != g.Skip {
			changed.Add(i)
		}
	}
}

// A PodSequence holds the pods of another namespace only while that namespace allows it. Without consent the sequence is
// known, for its report, but it has no members: it holds nothing, releases nothing and takes nothing for ready. Consent that
// comes later counts as if the sequence had been made then, except that passes which status records still hold. Consent that is withdrawn
// counts as if the sequence was gone.

// newSequence returns a sequence that has not come anywhere yet.
func newSequence(compiled *spec.Sequence, stored spec.Stored) *sequence {
	s := &sequence{
		Sequence: compiled, groups: make([]*group, len(compiled.Groups)), object: stored.PodSequence, cluster: stored.Cluster,
		unreadable: stored.Unreadable, created: stored.CreationTimestamp.Time,
		ended: sets.Set[types.UID]{}, domains: map[string]*domain{}, groupsByNamespace: map[string]spec.GroupSet{},
	}
	places, onlyPlaces := make([]membership, len(s.groups)), make([][]membership, len(s.groups))
	for i, g := range compiled.Groups {
		places[i], onlyPlaces[i] = membership{s, i}, places[i:i+1:i+1]
		s.groups[i] = &group{Group: g, demands: map[*demand]struct{}{}, onlyPlace: &onlyPlaces[i]}
	}
	return s
}

package sequence

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
)

// replaceSequences enters all sequences that there are, of PodSequences or of ClusterPodSequences.
func (k *knowledge) replaceSequences(objects []order.Stored, cluster bool, tx *transaction) {
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

func (k *knowledge) applySequence(stored order.Stored, tx *transaction) {
	ps := stored.PodSequence
	key := types.NamespacedName{Namespace: ps.Namespace, Name: ps.Name}
	old := k.sequences[key]
	if old != nil && old.UID == ps.UID && ps.ResourceVersion != "" && !inventory.Newer(ps.ResourceVersion, old.object.ResourceVersion) {
		return
	}
	if old != nil && old.UID == ps.UID && old.Generation == ps.Generation && reflect.DeepEqual(old.Override, order.ReadOverride(ps, k.now)) {
		resumed, records, released := old.resumedAt(), old.nodeRecords, old.firstReleased
		old.failures.review(tx)
		old.object, old.cluster = ps, stored.Cluster
		old.restoreFromStatus()
		old.markObjects(old.readObjects(old, k.now), tx)
		old.failures.review(tx)
		releasedSince := old.Suspended && old.firstReleased && !released
		for _, d := range old.domains {
			wasListed, isListed := records[d.name] != nil, old.nodeRecords[d.name] != nil
			if !d.isNode() || releasedSince || (wasListed && !isListed) || !old.resumedAt().Equal(resumed) {
				tx.markDirty(d)
			}
		}
		return
	}
	k.replaceSequence(old, k.compile(stored, old), tx)
}

// compile returns the sequence that is to take the place of old, which may be nil.
func (k *knowledge) compile(stored order.Stored, old *sequence) *sequence {
	compiled := order.Compile(stored, k.settings.GatePrefixes, k.now).InstalledIn(k.settings.InstallationNamespace)
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
		next.failures.review(tx)
		next.markObjects(next.readObjects(old, k.now), tx)
		next.beginDryRun(old)
		next.outOfOrder.begin(old, affected, tx)
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

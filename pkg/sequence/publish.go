package sequence

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/spec"
)

// publish publishes how far the domain is, and returns what was published before.
func (d *domain) publish() (before publishedDomain) {
	d.sequence.domainsMu.Lock()
	defer d.sequence.domainsMu.Unlock()
	before, d.published = d.published, d.toPublish()
	return before
}

func (d *domain) toPublish() publishedDomain {
	return publishedDomain{
		standing: d.standing(), node: d.node, ripe: d.Ripe, failed: d.failedGroups(),
		lost: inventory.TimestampOf(d.lastLost()),
	}
}

// publish publishes what the engine says of the pod, and returns it.
func (k *knowledge) publish(p *pod) verdict {
	if p.Bound() {
		k.published.withdraw(p)
		return verdict{}
	}
	is, old := k.judge(p), p.published
	if old != nil && old.Pod == p.Pod && old.places == p.places && slices.Equal(old.needs(), is.needs) {
		old.opened, old.reason = is.opened, is.reason
		was := old.held.Swap(is.held)
		if was || is.held {
			old.refused.Store(nil) // its scheduler has to say again why it finds no node
		}
		return is
	}
	p.published = &publishedPod{
		Pod: p.Pod, places: p.places, kept: p.kept, opened: is.opened, reason: is.reason,
	}
	p.published.held.Store(is.held)
	if old != nil && old.UID == p.UID {
		if !is.held && !old.held.Load() && slices.Equal(old.needs(), is.needs) {
			p.published.refused.Store(old.refused.Load())
		}
	}
	k.published.pods.Store(p.key(), p.published)
	return is
}

// releasesUnseen reports whether the sequence releases such a pod.
func (set *settings) releasesUnseen(view *pod, m membership) bool {
	facts := set.holdFacts(view, m)
	facts.Released = m.sequence.publishedOn("").released.Has(m.group)
	return facts.Rule() == hold.Free
}

// publishGone and publishCome publish which of the sequences of a transaction are there no more, and which are there.
func (k *knowledge) publishGone(tx *transaction) {
	for _, key := range tx.edited {
		if k.sequences[key] == nil {
			k.published.existing.sequences.Delete(key)
		}
	}
}

func (k *knowledge) publishCome(tx *transaction) {
	for _, key := range tx.edited {
		if k.sequences[key] != nil {
			k.published.existing.sequences.Store(key, nil)
		}
	}
}

// publishDomains publishes how far the domains are.
func (k *knowledge) publishDomains(tx *transaction) {
	for i := range tx.dirtyDomains {
		d := &tx.dirtyDomains[i]
		if d.dirty = false; d.sequence.registered {
			d.before = d.publish()
			k.noteReleases(d.domain, d.before)
		}
	}
}

// published returns what is published of a pod with a UID; zero if nothing is.
func (set *settings) published(p *publishedPod, uid types.UID) verdict {
	if p == nil || p.UID != uid {
		return verdict{}
	}
	v := verdict{held: p.held.Load(), reason: p.reason, needs: p.needs(), opened: p.opened}
	if !v.held {
		v.lift = set.liftable(p.Pod, p.memberships())
	}
	return v
}

// publishedOn is how far the sequence is on a node, as of the last event.
func (s *sequence) publishedOn(name string) publishedDomain {
	s.domainsMu.RLock()
	defer s.domainsMu.RUnlock()
	if d := s.domains[name]; d != nil {
		return d.published
	}
	return publishedDomain{} // the node is not known
}

// differsOn returns the first group that pods of this one wait for and that is for a node as its labels are here, and is not as they are
// known, or the other way round; the first of all if this is another node than the known one of that name.
func (s *sequence) differsOn(object *corev1.Node, group int) (differs int, any bool) {
	known := s.publishedOn(object.Name).node
	if known == nil {
		return 0, false // nothing is open there
	}
	for i := range s.groups[group].Awaited.All() {
		g := s.groups[i]
		if object.UID != known.Object.UID || g.AppliesTo(object.Labels) != g.AppliesTo(known.Object.Labels) {
			return i, true
		}
	}
	return 0, false
}

// matchUnseen works out the memberships of a pod that is not known, and whether all its sequences release it.
func (p *published) matchUnseen(object *corev1.Pod, set *settings) (memberships []membership, released bool) {
	if !p.existing.concerns(object) {
		return p.matchSequences(object, set)
	}
	view := viewPod(object)
	if p.existing.join(view, true, set).Missing() != spec.NothingMissing {
		return nil, false
	}
	before, _ := p.namespaces.Load(object.Namespace)
	memberships, released = p.matchSequences(object, set)
	// Once more: a sequence that was deleted meanwhile may have been the one.
	if !released || p.existing.join(view, len(memberships) > 0, set).Missing() != spec.NothingMissing {
		return nil, false
	}
	// If it was created again since, the pod was matched without it. It is among the sequences of its namespace before it is found.
	after, _ := p.namespaces.Load(object.Namespace)
	return memberships, before == after
}

// matchSequences is matchUnseen for what the sequences of the namespace say.
func (p *published) matchSequences(object *corev1.Pod, set *settings) (memberships []membership, released bool) {
	found, any := p.namespaces.Load(object.Namespace)
	if !any {
		return nil, true
	}
	namespace := found.(*publishedNamespace)
	if namespace.tooMany {
		return nil, false
	}
	view := viewPod(object)
	for s, groups := range namespace.sequences {
		m, has := s.place(view, groups)
		if has && !set.releasesUnseen(view, m) {
			return nil, false
		}
		if has {
			memberships = append(memberships, m)
		}
	}
	// What one sequence releases it releases from then on, unless it is edited or deleted. So they all release the pod now.
	again, _ := p.namespaces.Load(object.Namespace)
	return memberships, again == found
}

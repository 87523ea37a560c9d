package sequence

import (
	"cmp"

	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/spec"
)

// Whoever asks whether a pod may be scheduled asks holderOf, which has the rules of the package hold applied to every sequence of the pod.
// The facts for these rules are gathered here and nowhere else.

// holdFacts returns what decides whether the sequence holds pods of the group, as far as that is the same for all of them and at any
// time. It needs no lock.
func (m membership) holdFacts() hold.Facts {
	s := m.sequence
	return hold.Facts{
		DryRun: s.DryRun, Suspended: s.Suspended, PerNode: s.PerNode, Continuous: s.Continuous, Waits: s.groups[m.group].Awaited != 0,
	}
}

// holdFacts returns what decides whether the sequence holds the pod, but for whether the group is released. It needs no lock.
func (set *settings) holdFacts(p *pod, m membership) hold.Facts {
	f := m.holdFacts()
	if f.PerNode { // elsewhere nobody asks for the rest
		f.Ours, f.Gated, f.Blind = set.isOurs(p), p.isGatedFor(m.sequence), set.ClusterScopeOnly
		f.Placed = p.Wants() == nil || p.Terminating
	}
	return f
}

// holdFacts returns what decides whether the sequence holds the pod.
func (k *knowledge) holdFacts(p *pod, m membership) hold.Facts {
	f := k.settings.holdFacts(p, m)
	f.Released = m.sequence.nodeless.releases(m.group)
	return f
}

// holder is what holds a pod. The zero value is nothing.
type holder struct {
	// missing is a sequence that the pod waits for and that does not exist. The rest is zero then.
	missing spec.Missing
	// place is the pod's place in the sequence that holds it, the first by namespace and name; nil if none does. rule is how.
	place *membership
	rule  hold.Rule
	// early is the pod's place in a sequence that may hold it as soon as a change is known that is missing now; nil if there is none.
	early *membership
}

// holderOf works out what holds a pod.
func (k *knowledge) holderOf(p *pod) holder {
	if missing := k.published.existing.missing(p, &k.settings); missing != spec.NothingMissing {
		return holder{missing: missing}
	}
	h := holder{early: k.questions.earlyIn(p)}
	for i := range p.memberships() {
		m := &p.memberships()[i]
		if h.place != nil && !less(m.sequence.Key, h.place.sequence.Key) {
			continue
		}
		if rule := k.holdFacts(p, *m).Rule(); rule != hold.Free && (rule != hold.ByNode || k.nodes.hold(p, *m)) {
			h.place, h.rule = m, rule
		}
	}
	if h.place == nil && len(p.memberships()) > 1 && !k.nodes.isReleasedOnNodes(p) {
		h.place, h.rule = &p.nodeNeeds().needs[0], hold.ByNode // no sequence by itself, but on every node some sequence
	}
	return h
}

// by is the pod's place in the sequence that holds it, be it only until no change is missing; nil if none does.
func (h holder) by() *membership { return cmp.Or(h.place, h.early) }

// mayBeScheduled reports whether nothing holds the pod.
func (k *knowledge) mayBeScheduled(p *pod) bool { return k.holderOf(p) == holder{} }

// hold reports whether a sequence that keeps the pod from some nodes keeps it from all, so that it must wait. A pod that the engine does
// not know has neither an equivalence class nor a pin. It must wait until it does: to work out which nodes suit it may take long.
func (all *nodes) hold(p *pod, m membership) bool {
	switch {
	case p.class != nil:
		return p.class.holds(p) && p.class.waitsFor(m)
	case p.pin != nil:
		return hold.Nodes{Pinned: true, Open: all.openOnPin(p.pin.Pin, m)}.Hold()
	}
	return true
}

// isReleasedOnNodes reports whether sequences of node scope leave the pod a node to go to, or nothing to wait for.
func (all *nodes) isReleasedOnNodes(p *pod) bool {
	switch {
	case p.class != nil:
		return !p.class.holds(p)
	case p.pin != nil:
		return all.isReleasedOnPin(p)
	}
	return true
}

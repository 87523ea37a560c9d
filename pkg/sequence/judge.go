package sequence

import (
	"slices"

	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/spec"
)

// judge works out the verdict on a pod without a node.
func (k *knowledge) judge(p *pod) verdict {
	v := verdict{needs: p.needs(), opened: p.opened}
	h := k.holderOf(p)
	switch {
	case h.missing != spec.NothingMissing:
		v.held, v.reason = true, reason{missing: h.missing}
	case h.place != nil:
		v.held, v.reason = true, k.unplaced.reasonOf(p, h.place)
	default:
		v.lift = k.settings.liftable(p.Pod, p.memberships())
	}
	return v
}

// opensMore reports whether a pod may be scheduled to nodes that it might not be before. Somebody may have found no node for it.
func (v verdict) opensMore(is verdict) bool {
	return len(v.needs) > 0 && (v.opened != is.opened || !slices.Equal(v.needs, is.needs))
}

// liftsMore reports whether gates of the pod may be lifted that might not be before.
func (v verdict) liftsMore(is verdict) bool {
	return slices.ContainsFunc(is.lift, func(gate string) bool { return !slices.Contains(v.lift, gate) })
}

// holdFacts returns what decides whether the sequence holds the pod.
func (k *knowledge) holdFacts(p *pod, m membership) hold.Facts {
	f := k.settings.holdFacts(p, m)
	f.Released = m.sequence.nodeless.Released.Has(m.group)
	return f
}

// holder is what holds a pod. The zero value is nothing.
type holder struct {
	// missing is a sequence that the pod waits for and that does not exist. The rest is zero then.
	missing spec.Missing
	// place is the pod's place in the sequence that holds it, the first by namespace and name; nil if none does. rule is how.
	place *membership
	rule  hold.Rule
}

// holderOf works out what holds a pod.
func (k *knowledge) holderOf(p *pod) holder {
	if missing := k.published.existing.missing(p, &k.settings); missing != spec.NothingMissing {
		return holder{missing: missing}
	}
	h := holder{}
	for i := range p.memberships() {
		m := &p.memberships()[i]
		if h.place != nil && !less(m.sequence.Key, h.place.sequence.Key) {
			continue
		}
		if rule := k.holdFacts(p, *m).Rule(); rule != hold.Free && (rule != hold.ByNode || k.unplaced.hold(p, *m)) {
			h.place, h.rule = m, rule
		}
	}
	if h.place == nil && len(p.needs()) > 1 && p.Pin().IsOne() && !k.unplaced.openOnPin(p.Pin(), p.needs()...) {
		h.place, h.rule = &p.needs()[0], hold.ByNode // no sequence by itself, but on every node some sequence
	}
	return h
}

// mayBeScheduled reports whether nothing holds the pod.
func (k *knowledge) mayBeScheduled(p *pod) bool { return k.holderOf(p) == holder{} }

// hold reports whether a pod must wait that a sequence keeps from some nodes: one that is pinned does while its node is not open. Any other is
// tried. A pod that the engine has not entered waits until it has: who tries it must find what keeps it from nodes, see Placement.
func (all *unplaced) hold(p *pod, m membership) bool {
	switch {
	case p.kept == nil:
		return true
	case p.Pin().IsOne():
		return !all.openOnPin(p.Pin(), m)
	}
	return false
}

// reasonOf returns what a pod waits for that this sequence holds.
func (all *unplaced) reasonOf(p *pod, m *membership) reason {
	r := reason{sequence: m.sequence}
	if !m.sequence.PerNode || p.kept == nil || !p.Pin().IsOne() {
		return r
	}
	if n := all.nodeOfPin(p.Pin()); n == nil {
		r.group = -1
	} else if waitsFor := m.sequence.domains[n.Name].Current() & m.sequence.groups[m.group].Awaited; waitsFor != 0 {
		r.group = int8(waitsFor.First()) + 1
	}
	return r
}

package sequence

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/report"
)

// verdict is what the engine says of a pod without a node. The one that is published is kept; what an event reports of pods is
// how it differs from the new one.
type verdict struct {
	held   bool
	reason reason // what it waits for; zero if it is not held

	// needs and opened are as of the pod.
	needs  []membership
	opened uint64
	// lift are its gates that may be lifted.
	lift []string
}

// reason is what a pod waits for, as far as a change of it is news of this pod. What a sequence waits for in the cluster is news
// of the sequence, see Changes.Advanced.
type reason struct {
	sequence *sequence // in the form that it has since its last edit
	// group is the first that the pod waits for on the one node that it asks for, counted from 1; -1 if there is no such node,
	// and 0 if it does not ask for one, or waits for no group.
	group int8
	// missing is a sequence that it waits for and that does not exist; the rest is zero then.
	missing order.Missing
}

// judge works out the verdict on a pod without a node.
func (k *knowledge) judge(p *pod) verdict {
	v := verdict{needs: p.needs(), opened: p.opened}
	h := k.holderOf(p)
	switch {
	case h.missing != order.NothingMissing:
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
	missing order.Missing
	// place is the pod's place in the sequence that holds it, the first by namespace and name; nil if none does. rule is how.
	place *membership
	rule  hold.Rule
}

// holderOf works out what holds a pod.
func (k *knowledge) holderOf(p *pod) holder {
	if missing := k.published.existing.missing(p, &k.settings); missing != order.NothingMissing {
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

// decide says in words what holds the pod.
func (k *knowledge) decide(p *pod) (d report.Decision) {
	h := k.holderOf(p)
	switch h.missing {
	case order.NamedMissing:
		d.Held, d.Reason = true, report.HeldUntilCreated
		d.Sequence = types.NamespacedName{Namespace: p.Namespace, Name: order.NamedSequence(&p.Labels)}
		return d
	case order.AnyMissing:
		d.Held, d.Reason, d.Sequence.Namespace = true, report.HeldUntilSelected, p.Namespace
		return d
	}
	by := h.place
	if by == nil {
		return d
	}
	s := by.sequence
	d.Held, d.Sequence, d.Groups, d.Overridden = true, s.Key, len(s.groups), s.Override.Suspend
	d.Group, d.Title = by.group, s.groups[by.group].Title
	switch {
	case h.rule == hold.ByGroup:
		s.nodeless.describe(&d, k.now)
	case h.rule == hold.Unsupported:
		d.Reason, d.SchedulerNames = report.HeldUnsupported, k.settings.SchedulerNames
	case p.kept != nil:
		n := k.unplaced.nodeOfPin(p.Pin())
		if d.Node = p.Pin().Node + p.Pin().Host; n == nil {
			d.Reason = report.HeldByUnknownNode
			break
		}
		d.Node = n.Name
		s.describeOn(&d, n, k.now)
	default:
		d.Reason = report.HeldUnseen
	}
	return d
}

// mayBeScheduled reports whether nothing holds the pod.
func (k *knowledge) mayBeScheduled(p *pod) bool { return k.holderOf(p) == holder{} }

package sequence

import (
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// decision says what holds the pod.
func (k *knowledge) decision(p *pod) (d report.Decision) {
	h := k.holderOf(p)
	switch h.missing {
	case spec.NamedMissing:
		d.Held, d.Reason = true, report.HeldUntilCreated
		d.Sequence = types.NamespacedName{Namespace: p.Namespace, Name: spec.NamedSequence(&p.Labels)}
		return d
	case spec.AnyMissing:
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

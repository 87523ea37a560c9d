package sequence

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// describeOn says what a node waits for.
func (s *sequence) describeOn(decision *report.Decision, n *node, now time.Time) {
	decision.NodeNotReady = !n.NotReady.IsZero()
	decision.NodeTrouble = report.NodeTrouble(&n.Node)
	if d := s.domains[n.Name]; d != nil { // else the sequence was replaced since the caller found the node closed
		d.describe(decision, now)
	}
}

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

// describe says what the domain waits for.
func (d *domain) describe(decision *report.Decision, now time.Time) {
	waitsFor := d.waitsFor(decision.Group)
	if waitsFor == 0 {
		decision.Reason = report.HeldBySuspension
		return
	}
	current := waitsFor.First()
	decision.Group, decision.Title = current, d.sequence.groups[current].Title
	for i := range (waitsFor &^ (1 << current)).All() {
		decision.Others = append(decision.Others, d.sequence.groups[i].Title)
	}
	decision.Need = d.need(current)
	if d.published.failed.Has(current) {
		if failure := d.failureOfMembers(current); failure != nil {
			decision.Failure = strings.TrimPrefix(failure.Message, d.where(current).String()+": ")
		}
	}
	switch {
	case d.Ripe.Has(current):
		decision.Reason = report.HeldUnrecorded
	case d.looksSatisfied(current):
		decision.Reason, decision.Until = report.HeldByWait, d.waitOver(current)
	case d.timedOut(current, now):
		decision.Reason = report.HeldByTimeout
	}
}

// waitsFor returns the groups that members of a group wait for, as far as they are under way: not those that wait themselves.
func (d *domain) waitsFor(group int) spec.GroupSet {
	return d.sequence.groups[group].Awaited & d.Current()
}

package sequence

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/hold"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/pkg/sequence/spec"
)

// Decide answers for a pod that the caller has. The caller may have it earlier than the engine, or in a newer version:
// then its memberships are worked out from the pod itself, and if it must wait, the engine remembers to report its
// release when it comes to know it.
func (e *Engine) Decide(object *corev1.Pod) report.Decision {
	e.mu.RLock()
	defer e.mu.RUnlock()

	p, known := e.namespaces.find(object)
	d := e.decision(p)
	if d.Held && !known {
		e.ReportWhenSeen(object)
	}
	return d
}

// FirstSeen is when a pod was first seen, or first seen without scheduling gates if it had some: until then nobody schedules it. A
// PodSequence that was made later has made the pod no promise yet.
type FirstSeen struct {
	// Version is the pod's resource version then.
	Version string
	// Moment is the engine's moment then, see Engine.Moment; 0 if the engine does not know the pod yet.
	Moment uint64
	// AsksNamespaces reports that it matters what Namespaces said when the pod was first seen, which the engine may not know yet:
	// some ClusterPodSequence selects namespaces by label, or some PodSequence points to the pod's namespace without its consent.
	AsksNamespaces bool
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
	by := h.by()
	if by == nil {
		return d
	}
	s := by.sequence
	d.Held, d.Sequence, d.Groups = true, s.Key, len(s.groups)
	d.Group, d.Title = by.group, s.groups[by.group].Title
	switch {
	case h.place == nil:
		d.Reason, d.Group = report.HeldEarly, s.groups[by.group].Awaited.First()
	case h.rule == hold.ByGroup:
		s.nodeless.describe(&d, k.now)
	case h.rule == hold.Unsupported:
		d.Reason = report.HeldUnsupported
	case p.pin != nil:
		n := k.nodes.nodeOfPin(p.pin.Pin)
		if d.Node = p.pin.Node + p.pin.Host; n == nil {
			d.Reason = report.HeldByUnknownNode
			break
		}
		d.Node = n.Name
		s.describeOn(&d, n, k.now)
	case p.class != nil:
		d.Reason, d.Suitable, d.OnTheWay = report.HeldByNodes, p.class.nodes.Suitable, p.class.nodes.OnTheWay
		if d.Lacking = p.class.nodes.Lacking; d.Lacking > 0 {
			d.Devices = namesOf(p.class.devices)
		}
		if s.Suspended {
			d.Reason = report.HeldBySuspension
		}
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
	switch {
	case d.unconfirmed && d.looksSatisfied(current) && !d.isConfirmed(current):
		decision.Reason = report.HeldUnconfirmed
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

// compareKeys orders sequences by namespace and name.
func compareKeys(a, b types.NamespacedName) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

func less(a, b types.NamespacedName) bool { return compareKeys(a, b) < 0 }

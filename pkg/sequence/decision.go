package sequence

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

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
		e.Remember(object)
	}
	return d
}

// Sighting is when a pod was first seen, or first seen without scheduling gates if it had some: until then nobody schedules it. A
// PodSequence that was made later has made the pod no promise yet.
type Sighting struct {
	// Version is the pod's resource version then.
	Version string
	// Moment is the engine's moment then, see Engine.Moment; 0 if the engine does not know the pod yet.
	Moment uint64
	// AsksNamespaces reports that it matters what Namespaces said when the pod was first seen, which the engine may not know yet:
	// some ClusterPodSequence selects namespaces by label, or some PodSequence points to the pod's namespace without its consent.
	AsksNamespaces bool
}

// mayBeScheduled reports whether every sequence releases the pod, and that is confirmed.
func (k *knowledge) mayBeScheduled(p *pod) bool { return k.isReleased(p) && !k.questions.isEarly(p) }

// isReleased reports whether every sequence that has the pod releases it, and those that it asks for exist.
func (k *knowledge) isReleased(p *pod) bool {
	if k.published.existing.missing(p, &k.settings) != spec.NothingMissing {
		return false
	}
	for _, m := range p.memberships() {
		if m.sequence.DryRun {
			continue
		}
		if m.sequence.PerNode {
			if k.settings.unsupported(p, m) {
				return false
			}
		} else if !m.sequence.nodeless.releases(m.group) {
			return false
		}
	}
	return k.nodes.isReleasedOnNodes(p)
}

// holding is the pod's place in the sequence that holds it, the first by namespace and name; nil if none does.
func (k *knowledge) holding(p *pod) *membership {
	var holding *membership
	for i := range p.memberships() {
		m := &p.memberships()[i]
		if k.holds(p, *m) && (holding == nil || less(m.sequence.Key, holding.sequence.Key)) {
			holding = m
		}
	}
	if holding == nil && len(p.memberships()) > 1 && !k.nodes.isReleasedOnNodes(p) {
		holding = &p.limits().needs[0] // no sequence by itself, but on every node some sequence
	}
	return holding
}

// decision says what holds the pod. A pod that the engine does not know has no equivalence class: it has to wait until it does, for
// to work out which nodes suit it may take long.
func (k *knowledge) decision(p *pod) (d report.Decision) {
	switch k.published.existing.missing(p, &k.settings) {
	case spec.NamedMissing:
		d.Held, d.Reason = true, report.HeldUntilCreated
		d.Sequence = types.NamespacedName{Namespace: p.Namespace, Name: spec.NamedSequence(&p.Labels)}
		return d
	case spec.AnyMissing:
		d.Held, d.Reason, d.Sequence.Namespace = true, report.HeldUntilSelected, p.Namespace
		return d
	}
	holding, early := k.holding(p), false
	if holding == nil {
		if holding, early = k.questions.earlyIn(p); !early {
			return d
		}
	}
	s := holding.sequence
	d.Held, d.Sequence, d.Groups = true, s.Key, len(s.groups)
	d.Group, d.Title = holding.group, s.groups[holding.group].Title
	if early {
		d.Reason, d.Group = report.HeldEarly, s.groups[holding.group].Awaited.First()
		return d
	}
	if !s.PerNode {
		s.nodeless.describe(&d, k.now)
		return d
	}
	switch {
	case k.settings.unsupported(p, *holding):
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

// holds reports whether this sequence keeps the pod from going.
func (k *knowledge) holds(p *pod, m membership) bool {
	if m.sequence.DryRun {
		return false
	}
	if !m.sequence.PerNode {
		return !m.sequence.nodeless.releases(m.group)
	}
	switch {
	case k.settings.unsupported(p, m):
		return true
	case m.waitsForNothing():
		return false
	case p.class != nil:
		return p.class.holds(p) && p.class.waitsFor(m)
	case p.pin != nil:
		return !k.nodes.isReleasedOnNodes(p) && !k.nodes.openOnPin(p.pin.Pin, m)
	}
	return p.memberships() != nil && p.Wants() != nil && !p.Terminating && k.settings.isOurs(p)
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

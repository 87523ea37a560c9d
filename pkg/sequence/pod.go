package sequence

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/pkg/sequence/inventory"
)

// pod is a pod, and what it is to the engine.
type pod struct {
	inventory.Pod
	*unbound // never nil, see newPod

	memberships []membership // no element is ever written to: who reads what is published reads them too
}

// unbound is what matters of a pod only while it has no node. Pods that have one share a value that nobody writes to.
type unbound struct {
	firstSeen Sighting // when the engine came to know it, or came to know it without gates
	released  Sighting // when it last was released with gates to lift
	placed    Question // when what it belongs to last changed, in itself or in a sequence

	// class has the unbound pods with the same wants and the same places in sequences of node scope; nil for a pod that
	// no such sequence keeps from any node, and for one that is pinned.
	class *equivalenceClass
	pin   *pin

	confirmed uint64    // a moment until which no change that matters to it is missing
	asks      []Subject // what must be known before it may be scheduled, see questions.go
	published *publishedPod
}

// bound is what all pods that have a node share.
var bound = &unbound{}

// newPod returns a pod of which nothing is known.
func newPod() *pod { return &pod{unbound: bound} }

// membership is a pod's place in one sequence.
type membership struct {
	sequence *sequence
	group    int
}

// viewPod is the pod as the engine has not entered it yet.
func viewPod(object *corev1.Pod) *pod {
	view := &pod{Pod: inventory.ViewPod(object), unbound: bound}
	if !view.Bound() {
		view.unbound = &unbound{
			firstSeen: Sighting{Version: object.ResourceVersion},
			placed:    Question{Moment: math.MaxUint64, Version: object.ResourceVersion}, // until it is entered
		}
	}
	return view
}

// follow has a view take over what was known of the pod that it replaces. replace reports that its memberships may be others.
func (p *pod) follow(before *pod, replace bool, tx *transaction) {
	if p.Bound() {
		if before.published != nil {
			p.unbound = &unbound{published: before.published} // until the transaction is settled, see published.forget
		}
		return
	}
	p.published, p.placed.Moment, p.asks = before.published, tx.Moment, before.asks
	p.class, p.pin = before.class, before.pin // see classify
	if before.UID == p.UID && !before.Bound() {
		p.released, p.confirmed = before.released, before.confirmed
		if len(p.Gates()) > 0 || len(before.Gates()) == 0 {
			p.firstSeen = before.firstSeen
		}
		if !replace {
			p.placed = before.placed
		}
	}
	if p.firstSeen.Moment == 0 {
		p.firstSeen.Moment = tx.Moment
	}
}

// liftable returns the pod's gates that its sequences may lift.
func (p *pod) liftable() []string { return liftable(p.Gates(), p.memberships) }

func liftable(gates []string, memberships []membership) []string {
	var lift []string
	for _, gate := range gates {
		for _, m := range memberships {
			if m.sequence.Gate == gate && m.sequence.GateAllowed {
				lift = append(lift, gate)
				break
			}
		}
	}
	return lift
}

// isMemberOf reports whether the pod belongs to a sequence.
func (p *pod) isMemberOf(s *sequence) bool {
	for _, m := range p.memberships {
		if m.sequence == s {
			return true
		}
	}
	return false
}

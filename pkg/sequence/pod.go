package sequence

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence/inventory"
)

// pod is a pod, and what it is to the engine. What it points to is shared: with other pods, and with who reads what is published.
type pod struct {
	*inventory.Pod // never nil, and never written to: another version takes its place
	*unbound       // never nil, see newPod

	places *[]membership // see memberships; never written to
}

// unbound is what matters of a pod only while it has no node. Pods that have one share a value that nobody writes to.
type unbound struct {
	firstSeen Question  // asks for all from before the engine came to know it, or came to know it without gates
	released  *Question // the same of when it last was released with gates to lift; nil if it was not
	placed    Question  // the same of when what it belongs to last changed, in itself or in a sequence

	// class holds the unbound pods with the same wants and the same places in sequences of node scope; nil for a pod that no such
	// sequence keeps from any node, and for one that is pinned.
	class      *equivalenceClass
	pin        *pin
	queuePlace queuePlace // in the class

	confirmed uint64 // a moment until which no change that matters to it is missing
	published *publishedPod
}

// bound is what all pods that have a node share.
var bound = &unbound{}

// newPod returns a pod of which nothing is known.
func newPod() *pod { return &pod{Pod: &inventory.Pod{}, unbound: bound} }

func (p *pod) key() types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// membership is a pod's place in one sequence.
type membership struct {
	sequence *sequence
	group    int
}

// memberships are the pod's places, in no more than one group of a sequence. No element is ever written to.
func (p *pod) memberships() []membership { return membershipsIn(p.places) }

func membershipsIn(places *[]membership) []membership {
	if places == nil {
		return nil
	}
	return *places
}

// setMemberships gives the pod its places. Most pods have one, and all that have only that share it.
func (p *pod) setMemberships(memberships []membership) {
	switch len(memberships) {
	case 0:
		p.places = nil
	case 1:
		p.places = memberships[0].sequence.groups[memberships[0].group].onlyPlace
	default:
		p.places = &memberships
	}
}

// viewPod is the pod as the engine has not entered it yet.
func viewPod(object *corev1.Pod) *pod {
	facts := inventory.ViewPod(object)
	view := &pod{Pod: &facts, unbound: bound}
	if !view.Bound() {
		view.unbound = &unbound{
			firstSeen: Question{Version: object.ResourceVersion},
			placed:    Question{Moment: math.MaxUint64, Version: object.ResourceVersion}, // until it is entered
		}
	}
	return view
}

// inheritFrom copies to a view what was known of the pod that it replaces. replace reports that its memberships may be others.
func (p *pod) inheritFrom(before *pod, replace bool, tx *transaction) {
	if p.Bound() {
		if before.published != nil {
			p.unbound = &unbound{published: before.published} // until the transaction is settled, see published.withdraw
		}
		return
	}
	p.published, p.placed.Moment = before.published, tx.Moment
	p.class, p.pin, p.queuePlace = before.class, before.pin, before.queuePlace // see classify
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

// isLiftedBy reports whether some sequence may lift a gate.
func isLiftedBy(gate string, memberships []membership) bool {
	return slices.ContainsFunc(memberships, func(m membership) bool { return m.sequence.Gate == gate && m.sequence.GateAllowed })
}

// isMemberOf reports whether the pod belongs to a sequence.
func (p *pod) isMemberOf(s *sequence) bool {
	for _, m := range p.memberships() {
		if m.sequence == s {
			return true
		}
	}
	return false
}

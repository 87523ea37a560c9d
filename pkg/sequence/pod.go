package sequence

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/spec"
)

// pod is a pod, and what it is to the engine. What it points to is shared: with other pods, and with who reads what is published.
type pod struct {
	*inventory.Pod // never nil, and never written to: another version takes its place
	*unbound       // never nil, see newPod

	places *[]membership // see memberships; never written to
}

// unbound is what matters of a pod only while it has no node. Pods that have one share a value that nobody writes to.
type unbound struct {
	// kept are its places in sequences of scope Node that keep it from some nodes, see needs; nil if none does.
	kept *[]membership
	// opened counts how often a node opened to it, so that it is to be tried again.
	opened uint64

	published *publishedPod
}

// bound is what all pods that have a node share.
var bound = &unbound{}

// newPod returns a pod of which nothing is known.
func newPod() *pod { return &pod{Pod: inventory.NoPod(), unbound: bound} }

// membership is a pod's place in one sequence.
type membership struct {
	sequence *sequence
	group    int
}

// reachesTheSame reports whether another version of the pod has reached the same, where the groups that count it ask for what CountsAs
// does not compare.
func (p *pod) reachesTheSame(view *pod) bool {
	for _, m := range p.memberships() {
		at := member{p, m.sequence.domainOf(p), m.group}
		for i := range at.groups().All() {
			required := m.sequence.groups[i].requirement()
			if !required.IsCommon() && p.Reached(required) != view.Reached(required) {
				return false
			}
		}
	}
	return true
}

// markDirty marks for re-evaluation the domains that count the pod.
func (p *pod) markDirty(tx *transaction) {
	for _, m := range p.memberships() {
		tx.markDirty(m.sequence.domainOf(p))
	}
}

// mark marks the pod wherever it is a member.
func (p *pod) mark(tx *transaction) {
	for _, m := range p.memberships() {
		tx.mark(member{p, m.sequence.domainOf(p), m.group})
	}
}

// runsOn returns the name of the pod's node; empty if it has none, or has ended.
func (p *pod) runsOn() string {
	if p.Failed || p.Succeeded {
		return ""
	}
	return p.Node
}

func (p *pod) key() types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
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
func viewPod(object *corev1.Pod) *pod { return withFacts(inventory.ViewPod(object)) }

// withFacts is viewPod for facts that are known.
func withFacts(facts inventory.Pod) *pod {
	view := &pod{Pod: &facts, unbound: bound}
	if !view.Bound() {
		view.unbound = &unbound{}
	}
	return view
}

// inheritFrom copies to a view what was known of the pod that it replaces.
func (p *pod) inheritFrom(before *pod) {
	if p.Bound() {
		if before.published != nil {
			p.unbound = &unbound{published: before.published} // until the transaction is settled, see published.withdraw
		}
		return
	}
	p.published, p.opened = before.published, before.opened
	if before.Pin() != p.Pin() {
		p.opened++
	}
}

// membershipIn returns the pod's place in a sequence, if it has one.
func (p *pod) membershipIn(s *sequence) (membership, bool) {
	for _, m := range p.memberships() {
		if m.sequence == s {
			return m, true
		}
	}
	return membership{}, false
}

// isGatedFor reports whether the pod carries the gate of the sequence, or the gate that it was given because it names a PodSequence.
func (p *pod) isGatedFor(s *sequence) bool {
	return p.HasGate(s.Gate) || (spec.NamedSequence(&p.Labels) != "" && p.HasGate(v1alpha1.DefaultSchedulingGateName))
}

// isOrdered reports whether any of these sequences is more than a dry run.
func isOrdered(memberships []membership) bool {
	return slices.ContainsFunc(memberships, func(m membership) bool { return !m.sequence.DryRun })
}

// memberships are the pod's places, in no more than one group of a sequence. No element is ever written to.
func (p *pod) memberships() []membership { return membershipsIn(p.places) }

// needs are the pod's places that keep it from some nodes. No element is ever written to: who reads what is published reads them too.
func (p *pod) needs() []membership { return membershipsIn(p.kept) }

func membershipsIn(places *[]membership) []membership {
	if places == nil {
		return nil
	}
	return *places
}

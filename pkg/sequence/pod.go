package sequence

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/pkg/sequence/inventory"
)

// pod is a pod, and what it is to the engine.
type pod struct {
	inventory.Pod
	firstSeen Sighting // when the engine came to know it
	placed    Question // when what it belongs to last changed, in itself or in a sequence

	// class has the unbound pods with the same wants and the same places in sequences of node scope; nil for a pod that
	// no such sequence keeps from any node, and for one that is pinned.
	class *equivalenceClass
	pin   *inventory.Pin

	confirmed   uint64       // a moment until which no change that matters to it is missing
	asks        []Subject    // what must be known before it may be scheduled, see confirm.go
	memberships []membership // no element is ever written to: who reads what is published reads them too
	published   *publishedPod
}

// membership is a pod's place in one sequence.
type membership struct {
	sequence *sequence
	group    int
}

// viewPod is the pod as the engine has not entered it yet.
func viewPod(object *corev1.Pod) *pod {
	return &pod{
		Pod:       inventory.ViewPod(object),
		firstSeen: Sighting{Version: object.ResourceVersion},
		placed:    Question{math.MaxUint64, object.ResourceVersion}, // until it is entered
	}
}

// liftable are the pod's gates that its sequences may lift.
func (p *pod) liftable() []string {
	var lift []string
	for _, gate := range p.Gates {
		for _, m := range p.memberships {
			if m.sequence.Gate == gate && m.sequence.GateAllowed {
				lift = append(lift, gate)
				break
			}
		}
	}
	return lift
}

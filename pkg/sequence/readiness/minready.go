package readiness

import (
	"fmt"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
)

// MinReady returns how long a pod must have been Ready without a break before it counts as ready in a group; 0 for a pod that counts
// at once. unprobed is what is asked of pods without a readiness probe.
//
// The kubelet calls a container without a readiness probe ready as soon as it runs, also between two crashes. A readiness gate says
// nothing of that: its condition stays as it is while containers restart. Neither does a startup probe, which is asked once. A group that
// requires another condition, or another status, asks for no more than that.
func MinReady(p *inventory.Pod, g *order.Group, unprobed time.Duration) time.Duration {
	switch {
	case p.Succeeded, g.Required == v1alpha1.RequireComplete, g.Required == v1alpha1.RequireStarted, g.Condition != "":
		return 0
	case g.MinReady != nil:
		return *g.MinReady
	case p.Unprobed:
		return unprobed
	}
	return 0
}

// Trials are the members that are Ready, and that do not count as ready yet.
type Trials struct {
	Pods int
	// For is how long one of them must stay Ready, and Unprobed reports that this is so because it has no readiness probe.
	For      time.Duration
	Unprobed bool
}

// String says in words what these members wait for.
func (t Trials) String() string {
	verb, has := "is", "has"
	if t.Pods > 1 {
		verb, has = "are", "have"
	}
	text := fmt.Sprintf("%d more %s Ready but not yet for %s", t.Pods, verb, t.For)
	if t.Unprobed {
		return text + ", and " + has + " no readiness probe"
	}
	return text + " (minReadySeconds)"
}

package ordercheck

import (
	"time"
)

// binding is a pod that came to its node.
type binding struct {
	*pod
	event event
	// from and to are the bounds of when that was.
	from, to time.Time
}

func newBinding(p *pod, e event, was *podFacts) binding {
	b := binding{pod: p, event: e, from: e.earliest, to: e.arrived}
	// The API server notes when it binds a pod, in whole seconds, unless it was noted before.
	noted := was != nil && was.uid == p.uid && !e.pod.boundAt.Equal(was.boundAt)
	if noted && !e.pod.boundAt.IsZero() && !e.pod.boundAt.After(e.arrived) {
		b.from = later(b.from, e.pod.boundAt)
		b.to = earlier(b.to, e.pod.boundAt.Add(time.Second))
	}
	return b
}

// violation is one that the binding is, without what it violates.
func (b binding) violation() Violation {
	return Violation{
		Pod: b.pod.String(), PodUID: b.uid, Node: b.podFacts.node, ResourceVersion: b.event.revision.String(), Time: b.event.arrived,
	}
}

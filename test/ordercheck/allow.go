package ordercheck

import (
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
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

// allows reports whether the pod may be bound by this version, or by the one before when the two were racing.
// excused is true when only the race allowed it.
func (v *version) allows(b binding) (allowed, excused bool) {
	group, ok := v.groupOf(b.podFacts)
	if !ok || b.terminating || b.lifted[v.uid].inOrder {
		return true, false
	}
	if _, closed := v.closed(group, b); !closed {
		return true, false
	}
	if !v.racesWith(b) {
		return false, false
	}
	if v.before == nil {
		return true, true
	}
	allowed, _ = v.before.allows(b)
	return allowed, allowed
}

// racesWith reports whether the pod may have been on its way to a node when this version appeared, or before a scheduler had seen it.
func (v *version) racesWith(b binding) bool {
	return (b.ungated < v.since || v.rules.excusesUnseen && b.startsUnseen()) && !v.arrived.Before(v.rules.windowBefore(b.event.arrived))
}

// startsUnseen reports whether nothing holds the pod before a scheduler has seen its sequence: it names none, and never had a gate.
func (p *pod) startsUnseen() bool {
	return p.ungated == p.created && p.labels[v1alpha1.SequenceLabel] == ""
}

// closed reports whether a group may not have its pods bound yet, and which group it waits for. It waits for itself if the
// sequence is suspended.
func (v *version) closed(group int, b binding) (awaited int, closed bool) {
	if v.dryRun {
		return 0, false
	}
	d := v.domainOf(b.pod)
	if d == nil {
		d = newDomain(v.sequenceFacts, v.rules) // nothing is known of the node
		return d.awaits(group)
	}
	d.settle(b.to)
	if !v.continuous {
		if awaited, waits := d.awaits(group); waits {
			return awaited, true
		}
	} else {
		from := v.rules.windowBefore(b.from)
		for _, g := range v.groups[group].ahead {
			if !d.passedSince(g, from, b.to) {
				return g, true
			}
		}
	}
	return group, !d.mayRelease(group)
}

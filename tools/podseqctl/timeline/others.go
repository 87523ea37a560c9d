package timeline

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/tools/podseqctl/snapshot"
)

// waitForOthers finds out whether another sequence held a pod for longer than this one. Of a sequence of scope Node nobody records when it
// released a pod.
func (p *Pod) waitForOthers(world *snapshot.Snapshot, of *snapshot.Sequence, pod *corev1.Pod) {
	p.Free = p.Released
	if p.Released == nil || of.PerNode() {
		return
	}
	for _, place := range world.Places(pod) {
		other := world.Sequence(place.Sequence)
		if place.Sequence == of.Key() || !place.Governed || other.PerNode() {
			continue
		}
		if p.Bound == nil && place.Decision.Held {
			p.HeldBy, p.Free = other.String(), nil
			return
		}
		groups := world.Status(other).Groups
		if place.Group >= len(groups) || groups[place.Group].ReleasedAt == nil {
			continue
		}
		released := groups[place.Group].ReleasedAt.Time
		if released.After(*p.Free) && (p.Bound == nil || !released.After(*p.Bound)) {
			p.HeldBy, p.Free = other.String(), &released
		}
	}
}

// hasOthers reports whether another sequence held some pod.
func (t *Timeline) hasOthers() bool {
	return slices.ContainsFunc(t.Groups, func(g Group) bool {
		return slices.ContainsFunc(g.Pods, func(p Pod) bool { return p.HeldBy != "" })
	})
}

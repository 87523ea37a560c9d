package sequence

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// oracleUnprobedReady is how long pods without a readiness probe must be ready in all worlds.
const oracleUnprobedReady = 5 * time.Second

// seeSteady notes since when a pod is ready without a break: what its kubelet says of the future counts from when it was first seen.
// wasAt is since when the version before was ready.
func (o *oracle) seeSteady(p, old *corev1.Pod, wasAt time.Time) {
	if ready, _ := said(p, v1alpha1.RequireReady); !ready {
		delete(o.steadyAt, p.UID)
		return
	}
	at := o.readyAt[p.UID]
	if old != nil && old.UID == p.UID && wasAt.Equal(at) {
		if ready, _ := said(old, v1alpha1.RequireReady); ready {
			return
		}
	}
	o.steadyAt[p.UID] = o.clamp(at)
}

// doneAt reports whether the pod has reached what the group requires at some time, and when it did. readyAt and steadyAt are what was
// known then.
func doneAt(p *corev1.Pod, g v1alpha1.PodGroup, readyAt, steadyAt map[types.UID]time.Time, now time.Time) (bool, time.Time) {
	done, _ := said(p, requirementOf(g))
	if !done {
		return false, time.Time{}
	}
	needs := time.Duration(0)
	probed := false
	for _, c := range p.Spec.Containers {
		probed = probed || c.ReadinessProbe != nil
	}
	switch {
	case p.Status.Phase == corev1.PodSucceeded:
	case g.MinReadySeconds != nil:
		needs = time.Duration(*g.MinReadySeconds) * time.Second
	case !probed:
		needs = oracleUnprobedReady
	}
	if needs == 0 {
		return true, readyAt[p.UID]
	}
	at := steadyAt[p.UID].Truncate(time.Second).Add(needs)
	if now.Before(nextFullSecond(at)) {
		return false, time.Time{}
	}
	return true, at
}

// hasTrials reports whether pods of the world may have to stay ready for a while before they count. Where a new engine must say what
// the running one says, what the kubelet says of the past must be what was seen then; so half of these worlds have the one, and half
// the other.
func (w *randomWorld) hasTrials() bool { return !w.truthful || w.seed%2 == 0 }

// probe gives the pod a readiness probe, most often where time hardly passes.
func (w *randomWorld) probe(spec *corev1.PodSpec) {
	if w.hasTrials() && ((w.waits && w.oneIn(2)) || w.oneIn(6)) {
		return
	}
	if len(spec.Containers) == 0 {
		spec.Containers = []corev1.Container{{Name: "main"}}
	}
	spec.Containers[0].ReadinessProbe = &corev1.Probe{}
}

// editMinReady changes the minReadySeconds of a group.
func (w *randomWorld) editMinReady(g *v1alpha1.PodGroup) {
	g.MinReadySeconds = nil
	if w.hasTrials() && w.oneIn(5) {
		g.MinReadySeconds = new(int32(pick(w, 0, 0, 1, 2, 7)))
	}
}

// countTrials tells how often pods had to stay ready.
func (c *comparison) countTrials() {
	o := c.oracle
	for _, v := range o.views {
		for _, p := range o.pods {
			i, member := v.groupOf[oracleKey(p)]
			if !member {
				continue
			}
			g := v.Spec.PodGroups[i]
			says, _ := said(p, requirementOf(g))
			done, at := o.done(p, g)
			switch {
			case says && !done:
				c.seen["a member is ready and does not count yet"]++
			case done && !at.IsZero() && at.After(o.lookedAtBefore):
				c.seen["a member counts as ready because of the time"]++
			}
		}
	}
}

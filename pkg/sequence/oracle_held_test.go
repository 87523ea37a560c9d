package sequence

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// held reports whether the pod must wait.
func (o *oracle) held(p *corev1.Pod) bool {
	if o.lacks(p) {
		return true
	}
	for _, v := range o.views {
		if v.Spec.Scope != v1alpha1.ScopeNode && !onlySays(v) {
			if i := groupOf(v, p); i >= 0 && !v.courses[""].mayStart(i) {
				return true
			}
		}
	}
	return o.heldByNodes(p)
}

// mayBreak reports whether what the pod waits for may stop being ready.
func (o *oracle) mayBreak(p *corev1.Pod) bool {
	for _, v := range o.views {
		if i := groupOf(v, p); i >= 0 && !waitsForNone(v.PodSequence, i) && !onlySays(v) && v.Spec.Mode() == v1alpha1.Continuous {
			return true
		}
	}
	return len(o.nodeViews(p)) > 0
}

// spares reports whether the pod must not evict another one, because that may hold it again.
func (o *oracle) spares(p, victim *corev1.Pod) bool {
	for _, v := range o.views {
		i, j := groupOf(v, p), groupOf(v, victim)
		if i >= 0 && j >= 0 && awaits(v.PodSequence, i, j) && !onlySays(v) && v.Spec.Mode() == v1alpha1.Continuous &&
			(v.Spec.Scope != v1alpha1.ScopeNode || o.node(victim.Spec.NodeName) == nil || o.applies(v.Spec.PodGroups[j], victim.Spec.NodeName)) {
			return true
		}
	}
	return false
}

// liftable reports whether the pod carries a gate that a sequence it belongs to lifts, or any if the pod is PodSequence's own.
func (o *oracle) liftable(p *corev1.Pod) bool {
	if len(p.Spec.SchedulingGates) == 0 {
		return false
	}
	if isOurs(p.Namespace, p.Labels) || asksByName(p) || o.isOnTheSide(p) {
		return true // the worlds have no gate but the default one
	}
	for _, v := range o.views {
		if groupOf(v, p) >= 0 && carries(p, v.PodSequence) {
			return true
		}
	}
	return false
}

func carries(p *corev1.Pod, ps *v1alpha1.PodSequence) bool {
	return slices.Contains(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: ps.Spec.SchedulingGateName})
}

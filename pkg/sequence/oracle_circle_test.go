package sequence

import (
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// groupAt is a group of a sequence of scope Cluster.
type groupAt struct {
	view  *view
	group int
}

// waitsForItself reports whether a sequence lacks pods that others hold until it has them.
func (o *oracle) waitsForItself(v *view) bool {
	if v.Spec.Scope == v1alpha1.ScopeNode {
		return false
	}
	for i := range v.Spec.PodGroups {
		if at := (groupAt{v, i}); o.leadsTo(at, at, map[groupAt]bool{}) {
			return true
		}
	}
	return false
}

// leadsTo reports whether a group waits, through others, for the last one.
func (o *oracle) leadsTo(at, last groupAt, seen map[groupAt]bool) bool {
	for _, next := range o.awaitedElsewhere(at) {
		if next == last {
			return true
		}
		if !seen[next] {
			seen[next] = true
			if o.leadsTo(next, last, seen) {
				return true
			}
		}
	}
	return false
}

// awaitedElsewhere are the groups of other sequences that are not ready and hold so many pods of a group that it cannot become ready.
func (o *oracle) awaitedElsewhere(at groupAt) []groupAt {
	if g := at.view.Spec.PodGroups[at.group]; !at.view.isUnderWay(at.group) || (g.Timeout != "" && g.OnTimeout == v1alpha1.TimeoutContinue) {
		return nil
	}
	var awaited []groupAt
	held := 0
	for _, p := range o.pods {
		if groupOf(at.view, p) != at.group || p.Spec.NodeName != "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		before := len(awaited)
		for _, v := range o.views {
			i := groupOf(v, p)
			governed := p.Spec.SchedulerName == oracleScheduler || carries(p, v.PodSequence)
			if v == at.view || v.Spec.Scope == v1alpha1.ScopeNode || onlySays(v) || i < 0 || !governed || v.courses[""].mayStart(i) {
				continue
			}
			for j := range v.Spec.PodGroups {
				if awaits(v.PodSequence, i, j) && v.isUnderWay(j) {
					awaited = append(awaited, groupAt{v, j})
				}
			}
		}
		if len(awaited) > before {
			held++
		}
	}
	if state := at.view.courses[""].groups[at.group]; held <= state.expected-state.enough {
		return nil
	}
	return awaited
}

// isUnderWay reports whether those before a group are passed, and it is not ready.
func (v *view) isUnderWay(i int) bool {
	c := v.courses[""]
	return c.reached[i] && !c.passed[i] && !c.groups[i].satisfied
}

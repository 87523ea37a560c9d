package deploymentcoordination

import "example.com/podsequence/internal/deployments"

// rollsElsewhere names a Deployment that rolls out unpaused and is in the hands of another coordination that overlaps with
// this one, as namespace/name. It is empty if there is none. Nothing may start beside it, active or not: somebody may have
// unpaused it, it may not have been paused yet, or it cannot be.
func (t *turn) rollsElsewhere(i int) string {
	if len(t.plan.groups[i]) == 1 {
		return ""
	}
	if t.rolling == nil {
		t.rolling = t.findRolling()
	}
	for _, place := range t.rolling {
		if handler := t.handler(place); handler != i && t.plan.groups[handler][0] == t.plan.groups[i][0] {
			m := Member{Deployment: &t.around.deployments[place]}
			return m.name()
		}
	}
	return ""
}

// findRolling returns the places of the Deployments that roll out unpaused, as the turn found them.
func (t *turn) findRolling() []int {
	rolling := []int{}
	for place := range t.around.deployments {
		d := &t.around.deployments[place]
		if d.Spec.Paused || len(t.plan.matching[place]) == 0 || deployments.IsComplete(d) {
			continue
		}
		m := Member{Deployment: d, ReplicaSets: t.replicaSets[d.UID]}
		m.known = t.template(&m)
		if !m.rolledOut(t.records[d.UID]) {
			rolling = append(rolling, place)
		}
	}
	return rolling
}

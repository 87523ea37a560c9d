package ordercheck

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func probed(p *corev1.Pod) {
	p.Spec.Containers = []corev1.Container{{Name: "main", ReadinessProbe: &corev1.Probe{}}}
}

// minReady sets the minReadySeconds of a group.
func minReady(seconds int32) func(*v1alpha1.PodGroup) {
	return func(g *v1alpha1.PodGroup) { g.MinReadySeconds = new(seconds) }
}

func TestJudgeWantsPodsWithoutAProbeToStayReady(t *testing.T) {
	shop, unprobed := order("s", tier("db"), named("app")), JudgeOptions{UnprobedReady: 5 * time.Second}
	db := func(name string, edits ...podEdit) step {
		return create(name, append(edits, labelled("tier", "db"))...)
	}
	after := func(delay time.Duration) step { return several(create("app"), passing(delay), bind("app")) }
	early := []string{"shop/app"}
	checkAll(t, map[string]judgement{
		"a pod that has just turned ready does not count": {
			options: unprobed, steps: []step{shop, db("db"), ready("db"), after(2 * time.Second)}, wantEarly: early, wantBindings: 1,
		},
		"it counts when it has been ready for long enough": {
			options: unprobed, steps: []step{shop, db("db"), ready("db"), after(7 * time.Second)}, wantBindings: 1,
		},
		"it counts at once where the operator says so": {
			steps: []step{shop, db("db"), ready("db"), after(0)}, wantBindings: 1,
		},
		"it counts at once with a probe": {
			options: unprobed, steps: []step{shop, db("db", probed), ready("db"), after(0)}, wantBindings: 1,
		},
		"it counts at once when it has succeeded": {
			options: unprobed, steps: []step{shop, db("db"), edit("db", succeeded), after(0)}, wantBindings: 1,
		},
		"every crash begins the time anew": {
			options: unprobed, wantEarly: early, wantBindings: 1,
			steps: []step{shop, db("db"), ready("db"), passing(3 * time.Second), unready("db"), ready("db"), passing(3 * time.Second), after(0)},
		},
		"a pod that crashes in time never counted": {
			options: unprobed, wantEarly: early, wantBindings: 1,
			steps: []step{shop, db("db"), ready("db"), passing(3 * time.Second), unready("db"), after(8 * time.Second)},
		},
		"what was passed once stays passed": {
			options: unprobed, wantBindings: 1,
			steps: []step{shop, db("db"), ready("db"), passing(7 * time.Second), unready("db"), after(0)},
		},
		"one that was ready for long enough is enough for minAvailable": {
			options: unprobed, wantBindings: 1,
			steps: []step{order("s", tier("db", enoughOf("1")), named("app")), db("db"), ready("db"), passing(6 * time.Second), db("db-2"), ready("db-2"), after(0)},
		},
		"one that has just turned ready does not stand in for another": {
			options: unprobed, wantEarly: early, wantBindings: 1,
			steps: []step{order("s", continuously, tier("db", enoughOf("1")), named("app")), db("db"), ready("db"), passing(7 * time.Second),
				db("db-2"), ready("db-2"), unready("db"), after(4 * time.Second)},
		},
		"the time of the group goes before": {
			options: unprobed, wantEarly: early, wantBindings: 1,
			steps: []step{order("s", tier("db", minReady(20)), named("app")), db("db", probed), ready("db"), after(9 * time.Second)},
		},
		"also if it is none": {
			options: unprobed, wantBindings: 1,
			steps: []step{order("s", tier("db", minReady(0)), named("app")), db("db"), ready("db"), after(0)},
		},
		"a wait begins when the time is over": {
			options: unprobed, wantEarly: early, wantBindings: 1,
			steps: []step{order("s", tier("db", waiting("10s")), named("app")), db("db"), ready("db"), after(13 * time.Second)},
		},
		"a wait ends after both": {
			options: unprobed, wantBindings: 1,
			steps: []step{order("s", tier("db", waiting("10s")), named("app")), db("db"), ready("db"), after(18 * time.Second)},
		},
		"on a node": {
			options: unprobed, wantEarly: early, wantBindings: 2,
			steps: []step{node("node-1"), order("s", perNode, tier("db"), named("app")), db("db"), bind("db"), ready("db"), after(3 * time.Second)},
		},
		"on a node, when it has been ready for long enough": {
			options: unprobed, wantBindings: 2,
			steps: []step{node("node-1"), order("s", perNode, tier("db"), named("app")), db("db"), bind("db"), ready("db"), after(8 * time.Second)},
		},
	})
}

package ordercheck

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func TestJudgeLooksAtEachNode(t *testing.T) {
	const late = 4 * time.Second
	driver := order("s", perNode, tier("csi"), named("app", "app-2"))
	driverOf := func(fixes ...func(*v1alpha1.PodGroup)) step {
		return order("s", perNode, tier("csi", fixes...), named("app"))
	}
	nodes := several(node("node-1", "disk", "ssd"), node("node-2"))
	csi := daemonSet("csi", "csi", 2)
	on1 := create("csi-1", labelled("tier", "csi"), of("csi"), at("node-1"))
	on2 := create("csi-2", labelled("tier", "csi"), of("csi"), at("node-2"))
	app := several(create("app"), bindTo("app", "node-1"))
	checkAll(t, map[string]judgement{
		"a pod bound where the driver is ready is fine": {
			steps: []step{nodes, driver, csi, on1, ready("csi-1"), app}, wantBindings: 2,
		},
		"a pod bound where the driver is not ready is early": {
			steps:     []step{nodes, driver, csi, on1, on2, ready("csi-2"), app},
			wantEarly: []string{"shop/app"}, wantBindings: 3,
		},
		"a pod bound where the driver has no pod is early": {
			steps:     []step{nodes, driver, csi, on2, ready("csi-2"), app},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
		"a pod bound where no driver is due is early all the same": {
			steps:     []step{nodes, driver, daemonSet("csi", "csi", 1, onlyOn("disk", "none")), app},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"one of two DaemonSets is not enough": {
			steps:     []step{nodes, driver, csi, daemonSet("csi-too", "csi", 2), on1, ready("csi-1"), app},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
		"a DaemonSet that should not run there is not waited for": {
			steps:        []step{nodes, driver, csi, daemonSet("csi-too", "csi", 2, onlyOn("disk", "none")), on1, ready("csi-1"), app},
			wantBindings: 2,
		},
		"a DaemonSet that is relabelled onto the node is": {
			steps: []step{nodes, driver, csi, daemonSet("csi-too", "csi", 2, onlyOn("disk", "none")), on1, ready("csi-1"),
				node("node-1", "disk", "none"), passing(late), app},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
		"a node outside the group's nodeSelector skips it": {
			steps: []step{nodes, driverOf(on("disk", "none")), csi, app}, wantBindings: 1,
		},
		"a node inside it does not": {
			steps:     []step{nodes, driverOf(on("disk", "ssd")), csi, app},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a node that nobody knows is open to the first group only": {
			steps:     []step{driver, create("csi-1", labelled("tier", "csi"), at("node-1")), ready("csi-1"), app},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
		"a driver that failed a moment ago is excused": {
			steps:        []step{nodes, driver, csi, on1, ready("csi-1"), passing(late), unready("csi-1"), app},
			wantBindings: 2,
		},
		"one that failed seconds ago is not": {
			steps:     []step{nodes, driver, csi, on1, ready("csi-1"), unready("csi-1"), passing(late), app},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
		"after a stop the scheduler goes by what it knew": {
			steps: []step{nodes, driver, csi, on1, ready("csi-1"), schedulerStops, unready("csi-1"), passing(time.Minute),
				schedulerGoesOn, app},
			wantBindings: 2,
		},
		"a pod bound there before proves nothing": {
			steps:     []step{nodes, driver, csi, create("app-2", at("node-1")), watchBegins, passing(late), app},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a failed driver pod that is replaced does not count": {
			steps: []step{nodes, driver, csi, on1, ready("csi-1"),
				create("old", labelled("tier", "csi"), of("csi"), at("node-1"), failed),
				passing(late), app},
			wantBindings: 3,
		},
		"a failed driver pod does not stand for its DaemonSet": {
			steps: []step{nodes, driver, csi, daemonSet("csi-too", "csi", 2), on1, ready("csi-1"),
				create("too-1", labelled("tier", "csi"), of("csi-too"), at("node-1")), edit("too-1", failed), passing(late), app},
			wantEarly: []string{"shop/app"}, wantBindings: 3,
		},
		"a DaemonSet on its way out is waited for until it is gone": {
			steps:     []step{nodes, driver, csi, on1, ready("csi-1"), daemonSet("csi-too", "csi", 2, leaving), passing(late), app},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
		"a terminating driver pod does not stand for its DaemonSet": {
			steps: []step{nodes, driver, csi, on1, create("own", labelled("tier", "csi"), at("node-1")), ready("csi-1"), ready("own"),
				terminate("csi-1"), passing(late), app},
			wantEarly: []string{"shop/app"}, wantBindings: 3,
		},
		"a time-out counts anew on a node that comes again": {
			steps: []step{nodes, order("s", perNode, named("a"), tier("csi", timingOut("10s", v1alpha1.TimeoutContinue)), named("app")),
				create("a", at("node-1")), ready("a"), remove("a"), removeNode("node-1"), passing(11 * time.Second),
				node("node-1"), create("a", at("node-1")), ready("a"), passing(late), app},
			wantEarly: []string{"shop/app"}, wantBindings: 3,
		},
		"a number is counted per node": {
			steps: []step{nodes, driverOf(enoughOf("1")), csi, on1, create("more", labelled("tier", "csi"), at("node-1")),
				ready("csi-1"), app},
			wantBindings: 3,
		},
		"the wait is counted per node": {
			steps: []step{nodes, driverOf(waiting("10s")), csi, on2, ready("csi-2"), passing(11 * time.Second), on1, ready("csi-1"),
				passing(late), app},
			wantEarly: []string{"shop/app"}, wantBindings: 3,
		},
		"a wait that is over there is fine": {
			steps:        []step{nodes, driverOf(waiting("10s")), csi, on1, ready("csi-1"), passing(11 * time.Second), app},
			wantBindings: 2,
		},
		"a time-out after which the node goes on": {
			steps:        []step{nodes, driverOf(timingOut("10s", v1alpha1.TimeoutContinue)), csi, passing(11 * time.Second), app},
			wantBindings: 1,
		},
		"a time-out counts from the creation of the node": {
			steps: []step{driverOf(timingOut("10s", v1alpha1.TimeoutContinue)), csi, passing(11 * time.Second), nodes,
				passing(late), app},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a node that comes again begins anew": {
			steps: []step{nodes, driver, csi, on1, ready("csi-1"), remove("csi-1"), removeNode("node-1"), passing(late),
				node("node-1"), app},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
		"a driver that was ready before its node was made again says nothing of the new node": {
			steps:     []step{nodes, driver, csi, on1, ready("csi-1"), removeNode("node-1"), passing(late), node("node-1"), passing(late), app},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
		"it does once it has turned ready again": {
			steps: []step{nodes, driver, csi, on1, ready("csi-1"), removeNode("node-1"), passing(late), node("node-1"), passing(late),
				ready("csi-1"), app},
			wantBindings: 2,
		},
		"a driver pod that is younger than the node does": {
			steps: []step{nodes, driver, csi, removeNode("node-1"), passing(late), node("node-1"),
				create("csi-1", labelled("tier", "csi"), of("csi"), at("node-1"), isNow(corev1.ConditionTrue)), app},
			wantBindings: 2,
		},
		"a driver that was ready before, of which nobody says since when, does": {
			steps: []step{nodes, driver, csi, on1, edit("csi-1", isNow(corev1.ConditionTrue)), removeNode("node-1"), passing(late),
				node("node-1"), passing(late), app},
			wantBindings: 2,
		},
		"a wait on a node that was made again is that of the new node": {
			steps: []step{nodes, driverOf(waiting("10s")), csi, on1, ready("csi-1"), passing(11 * time.Second), removeNode("node-1"),
				passing(late), node("node-1"), ready("csi-1"), passing(late), app},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
		"a suspended sequence releases nothing on any node": {
			steps: []step{nodes, driver, csi, on1, reorder("s", perNode, suspended, tier("csi"), named("app", "app-2")),
				passing(late), ready("csi-1"), app},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
	})
}

func removeNode(name string) step {
	return func(s *story) {
		s.changed(factsOfNode(&corev1.Node{ObjectMeta: meta(name)}), true)
		delete(s.nodes, name)
	}
}

func TestViolationsNameTheNodeAndWhatIsMissing(t *testing.T) {
	tests := map[string]struct {
		steps []step
		want  string
	}{
		"a driver that is not ready": {
			steps: []step{node("node-1"), order("s", perNode, tier("csi"), named("app")), daemonSet("csi", "csi", 1),
				create("csi-1", labelled("tier", "csi"), of("csi"), at("node-1"))},
			want: `and group 1/2 "Group 1" had not been ready on that node: csi-1 had never been ready`,
		},
		"a driver of a node that was made again": {
			steps: []step{node("node-1"), order("s", perNode, tier("csi"), named("app")), daemonSet("csi", "csi", 1),
				create("csi-1", labelled("tier", "csi"), of("csi"), at("node-1")), ready("csi-1"), removeNode("node-1"),
				passing(4 * time.Second), node("node-1"), passing(4 * time.Second)},
			want: `and group 1/2 "Group 1" had not been ready on that node: csi-1 had not been ready since the node was made`,
		},
		"a driver that has no pod": {
			steps: []step{node("node-1"), order("s", perNode, tier("csi"), named("app")), daemonSet("csi", "csi", 1)},
			want:  `and group 1/2 "Group 1" had not been ready on that node: DaemonSet csi had no pod there`,
		},
		"no driver at all": {
			steps: []step{node("node-1"), order("s", perNode, tier("csi"), named("app"))},
			want:  `and group 1/2 "Group 1" had not been ready on that node: it had no pod there`,
		},
		"a workload that is short": {
			steps: []step{order("s", tier("db"), named("app")), statefulSet("db", "db", 3), up("db", "db", "db-0")},
			want: `and group 1/2 "Group 1" had not been ready: 1 of 3 pods ready at best; ` +
				`StatefulSet db had 1 of 3 pods ready`,
		},
		"a wait": {
			steps: []step{order("s", tier("db", waiting("10s")), named("app")), create("db", labelled("tier", "db")), ready("db")},
			want:  `and the wait of group 1/2 "Group 1" was not over: ready since 03:04:05, to wait for 10s from the next full second`,
		},
		"a suspension": {
			steps: []step{order("s", suspended, named("app"))},
			want:  `which is suspended: it had not released group 1/1 "Group 1" before`,
		},
		"an outage": {
			steps: []step{order("s", continuously, named("db"), named("app")), create("db"), ready("db"), remove("db"),
				passing(4 * time.Second)},
			want: `and group 1/2 "Group 1" had not been ready: 1 of 1 pods ready at best; db was gone; it was ready until 03:04:05.040`,
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			verdict := Judge(tell(append(test.steps, create("app"), bind("app"))...), JudgeOptions{})
			require.Len(t, verdict.Violations, len(verdict.Violations))
			require.NotEmpty(t, verdict.Violations)
			assert.Contains(t, verdict.Violations[len(verdict.Violations)-1].String(), test.want)
		})
	}
}

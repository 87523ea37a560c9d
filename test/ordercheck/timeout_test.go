package ordercheck

import (
	"testing"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func TestJudgeKnowsThatWhatWasReadyHasNoTimeOut(t *testing.T) {
	goesOn := timingOut("10s", v1alpha1.TimeoutContinue)
	tiers := order("s", continuously, tier("db", goesOn), named("app"))
	db := create("db", labelled("tier", "db"))
	app := several(create("app"), bind("app"))
	const seen, over = 3 * time.Second, 11 * time.Second
	brokeLater := several(db, ready("db"), passing(seen), unready("db"), passing(over))
	brokeNow := several(db, ready("db"), passing(over), unready("db"), passing(5*time.Second))
	nodes := several(node("node-1"), order("s", perNode, tier("csi", goesOn), named("app")), daemonSet("csi", "csi", 1),
		create("csi", labelled("tier", "csi"), of("csi"), at("node-1")))
	checkAll(t, map[string]judgement{
		"a group that breaks after it was ready in time has all its time again": {
			steps: []step{tiers, brokeNow, app}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"its time may be over later": {steps: []step{tiers, brokeNow, passing(over), app}, wantBindings: 1},
		"a group that breaks during its wait": {
			steps:     []step{order("s", tier("db", goesOn, waiting("20s")), named("app")), brokeNow, app},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a driver that breaks after it was ready in time": {
			steps:     []step{nodes, ready("csi"), passing(over), unready("csi"), passing(5 * time.Second), app},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
		"its node may go on later": {
			steps: []step{nodes, ready("csi"), passing(over), unready("csi"), passing(over), app}, wantBindings: 2,
		},
		"the time of a driver runs from when there was the sequence, not from when there is the driver": {
			steps: []step{node("node-1"), order("s", perNode, tier("csi", goesOn), named("app")), passing(6 * time.Second),
				daemonSet("csi", "csi", 1), create("csi", labelled("tier", "csi"), of("csi"), at("node-1")), passing(5 * time.Second), app},
			wantBindings: 2,
		},
		"its time is not over yet": {
			steps: []step{node("node-1"), order("s", perNode, tier("csi", goesOn), named("app")), passing(6 * time.Second),
				daemonSet("csi", "csi", 1), create("csi", labelled("tier", "csi"), of("csi"), at("node-1")), passing(3 * time.Second), app},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
		"a group that breaks before an edit of a later one": {
			steps:     []step{tiers, brokeNow, reorder("s", continuously, tier("db", goesOn), named("app"), named("tail")), app},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a group that breaks after it was ready too late": {
			steps:     []step{tiers, db, passing(over), ready("db"), passing(seen), unready("db"), passing(5 * time.Second), app},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a group that was ready too late and whose wait is not over may still go on": {
			steps: []step{order("s", continuously, tier("db", goesOn, waiting("20s")), named("app")), db, passing(over),
				ready("db"), passing(seen), app},
			wantBindings: 1,
		},
		"a group that was ready for a moment, which the scheduler may have missed, may go on": {
			steps: []step{tiers, db, ready("db"), unready("db"), passing(over), app}, wantBindings: 1,
		},
		"a group that was ready only while the scheduler was stopped may go on": {
			steps:        []step{tiers, db, schedulerStops, ready("db"), passing(seen), unready("db"), schedulerGoesOn, passing(over), app},
			wantBindings: 1,
		},
		"a group that was ready only before its release may go on": {
			steps: []step{order("s", continuously, named("first"), tier("db", goesOn), named("app")), db, ready("db"), passing(seen),
				unready("db"), create("first"), ready("first"), passing(over), app},
			wantBindings: 1,
		},
		"a group that is defined in another way may go on": {
			steps:        []step{tiers, brokeLater, reorder("s", continuously, tier("cache", goesOn), named("app")), passing(over), app},
			wantBindings: 1,
		},
		"a driver on a node that was made again may go on": {
			steps: []step{nodes, ready("csi"), passing(seen), unready("csi"), removeNode("node-1"), passing(seen), node("node-1"),
				passing(over), app},
			wantBindings: 2,
		},
	})
}

func TestJudgeCountsATimeOutFromTheLatestRelease(t *testing.T) {
	goesOn := timingOut("10s", v1alpha1.TimeoutContinue)
	three := order("s", continuously, named("a"), tier("db", goesOn), named("app"))
	app := several(create("app"), bind("app"))
	aIsReady := several(create("a"), ready("a"), passing(5*time.Second))
	held := several(three, aIsReady, unready("a"), passing(20*time.Second), ready("a"))
	nodes := several(node("node-1"), order("s", perNode, tier("csi"), tier("net", goesOn), named("app")), daemonSet("csi", "csi", 1),
		daemonSet("stuck", "csi", 1), create("csi", labelled("tier", "csi"), of("csi"), at("node-1")))
	checkAll(t, map[string]judgement{
		"a group that was held again has all its time again": {
			steps: []step{held, passing(5 * time.Second), app}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"its time may be over later": {
			steps: []step{held, passing(11 * time.Second), app}, wantBindings: 1,
		},
		"a group that was held again for a moment, which the scheduler may have missed, has not": {
			steps: []step{three, aIsReady, unready("a"), ready("a"), passing(6 * time.Second), app}, wantBindings: 1,
		},
		"a group that had timed out before it was held again has": {
			steps:     []step{three, aIsReady, passing(10 * time.Second), unready("a"), passing(4 * time.Second), ready("a"), app},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a group that is released when the wait before it is over again has": {
			steps: []step{order("s", continuously, group(namedAndWaiting("6s", "a")), tier("db", goesOn), named("app")), create("a"), ready("a"),
				passing(8 * time.Second), unready("a"), passing(4 * time.Second), ready("a"), passing(11 * time.Second), app},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"on a node too": {
			steps: []step{nodes, daemonSet("stuck", "csi", 1, leaving), ready("csi"), passing(8 * time.Second), unready("csi"),
				passing(4 * time.Second), ready("csi"), passing(4 * time.Second), app},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
		"a group that a deletion released": {
			steps: []step{nodes, ready("csi"), passing(20 * time.Second), daemonSet("stuck", "csi", 1, leaving),
				passing(4 * time.Second), app},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
	})
}

func TestJudgeCountsATimeOutAnewAfterASuspension(t *testing.T) {
	goesOn := timingOut("10s", v1alpha1.TimeoutContinue)
	spec := func(fixes ...sequenceFix) []sequenceFix { return append(fixes, tier("db", goesOn), named("app")) }
	suspendedFor := func(d time.Duration, fixes ...sequenceFix) step {
		return several(node("node-1"), order("s", spec(fixes...)...), reorder("s", spec(append(fixes, suspended)...)...), passing(d),
			reorder("s", spec(fixes...)...))
	}
	app := several(create("app"), bind("app"))
	const long = 8 * time.Second
	checkAll(t, map[string]judgement{
		"under Continuous": {
			steps: []step{suspendedFor(long, continuously), passing(4 * time.Second), app}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"under Continuous, until it is over": {
			steps: []step{suspendedFor(long, continuously), passing(11 * time.Second), app}, wantBindings: 1,
		},
		"on nodes": {
			steps: []step{suspendedFor(long, perNode), passing(4 * time.Second), app}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"on nodes, until it is over": {
			steps: []step{suspendedFor(long, perNode), passing(11 * time.Second), app}, wantBindings: 1,
		},
		"also of what had timed out": {
			steps:     []step{suspendedFor(20*time.Second, continuously), passing(4 * time.Second), app},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"but not by BootstrapOnly, where status records the release": {
			steps: []step{suspendedFor(long), passing(4 * time.Second), app}, wantBindings: 1,
		},
		"nor after a suspension that the scheduler may have missed": {
			steps: []step{suspendedFor(time.Second, continuously), passing(long + 2*time.Second), app}, wantBindings: 1,
		},
	})
}

package ordercheck

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// startedAndReady creates pods, binds them and makes them ready.
func startedAndReady(names ...string) step {
	return func(s *story) {
		for _, name := range names {
			several(create(name), bind(name), ready(name))(s)
		}
	}
}

func started(names ...string) step {
	return func(s *story) {
		for _, name := range names {
			several(create(name), bind(name))(s)
		}
	}
}

func TestJudgeKnowsGraphs(t *testing.T) {
	const late = 4 * time.Second
	diamond := []sequenceFix{
		vertex("db", nil), vertex("left", after("db")), vertex("right", after("db")), vertex("top", after("left", "right")),
	}
	all := func(more ...sequenceFix) []sequenceFix { return append(append([]sequenceFix{}, diamond...), more...) }
	checkAll(t, map[string]judgement{
		"both sides of a diamond start when the bottom is ready": {
			steps: []step{order("s", diamond...), startedAndReady("db"), started("left", "right")}, wantBindings: 3,
		},
		"a side does not start before": {
			steps: []step{order("s", diamond...), started("db", "right")}, wantEarly: []string{"shop/right"}, wantBindings: 2,
		},
		"a side does not wait for the other": {
			steps: []step{order("s", diamond...), startedAndReady("db"), create("left"), started("right")}, wantBindings: 2,
		},
		"the top waits for both": {
			steps:     []step{order("s", diamond...), startedAndReady("db", "right"), started("top")},
			wantEarly: []string{"shop/top"}, wantBindings: 3,
		},
		"and starts when both are ready": {
			steps: []step{order("s", diamond...), startedAndReady("db", "right", "left"), started("top")}, wantBindings: 4,
		},
		"a side that is ready before its own turn passes nothing": {
			steps: []step{order("s", vertex("db", nil), vertex("left", after("db")), vertex("top", after("left"))),
				create("left", isReadyOnNode), started("top")},
			wantEarly: []string{"shop/left", "shop/top"}, wantBindings: 2,
		},
		"a name that another group has by default is that of the group with the name": {
			steps: []step{order("s", named("x"), vertex("Group 1", after()), vertex("top", after("Group 1"))),
				startedAndReady("Group 1"), started("top")},
			wantBindings: 2,
		},
		"a group with an empty list waits for none": {
			steps: []step{order("s", vertex("db", nil), vertex("free", after())), started("free")}, wantBindings: 1,
		},
		"one without a list waits for all before it, those with an empty list too": {
			steps:     []step{order("s", vertex("db", nil), vertex("free", after()), vertex("last", nil)), startedAndReady("db"), started("last")},
			wantEarly: []string{"shop/last"}, wantBindings: 2,
		},
		"enforced continuously a group waits for what is behind those it names": {
			steps: []step{order("s", all(continuously)...), startedAndReady("db", "left", "right"), passing(late), unready("db"), passing(late),
				started("top")},
			wantEarly: []string{"shop/top"}, wantBindings: 4,
		},
		"but not for a group beside": {
			steps: []step{order("s", continuously, vertex("db", nil), vertex("left", after("db")), vertex("right", after("db")),
				vertex("top", after("left"))), startedAndReady("db", "left", "right"), passing(late), unready("right"), passing(late),
				started("top")},
			wantBindings: 4,
		},
		"once passed a group is passed permanently, whatever becomes of it": {
			steps: []step{order("s", diamond...), startedAndReady("db", "left", "right"), unready("db"), unready("left"), passing(late),
				started("top")},
			wantBindings: 4,
		},
		"a membership goes by the list, not by the graph": {
			steps: []step{order("s", named("a"), group(v1alpha1.PodGroup{Name: "both", Pods: []string{"a", "b"}, DependsOn: after()})),
				startedAndReady("b"), started("a")},
			wantBindings: 2,
		},
		"a group of which the dependencies change has to be passed anew, and others not": {
			steps: []step{order("s", diamond...), startedAndReady("db", "left"), unready("left"), unready("db"), passing(late),
				reorder("s", vertex("db", nil), vertex("left", after()), vertex("right", after("db")), vertex("top", after("left", "right"))),
				passing(late), startedAndReady("right"), started("top")},
			wantEarly: []string{"shop/top"}, wantBindings: 4,
		},
		"a group that is put in the middle and that nobody names voids nothing": {
			steps: []step{order("s", diamond...), startedAndReady("db", "left", "right"), unready("db"), unready("left"), passing(late),
				reorder("s", vertex("new", after()), vertex("db", after()), vertex("left", after("db")), vertex("right", after("db")),
					vertex("top", after("left", "right"))), passing(late), started("top")},
			wantBindings: 4,
		},
		"on a node it is the same: a side waits for the bottom": {
			steps:     []step{node("node-1"), order("s", all(perNode)...), started("db"), passing(late), started("left")},
			wantEarly: []string{"shop/left"}, wantBindings: 2,
		},
		"and not for the other side": {
			steps: []step{node("node-1"), order("s", all(perNode)...), startedAndReady("db"), started("right")}, wantBindings: 2,
		},
		"the top waits for the other side there": {
			steps:     []step{node("node-1"), order("s", all(perNode)...), startedAndReady("db", "right"), passing(late), started("top")},
			wantEarly: []string{"shop/top"}, wantBindings: 3,
		},
		"a suspended graph has released what is open, and no more": {
			steps: []step{order("s", diamond...), startedAndReady("db"), passing(late), reorder("s", all(suspended)...), passing(late),
				startedAndReady("left", "right"), passing(late), started("top")},
			wantEarly: []string{"shop/top"}, wantBindings: 4,
		},
		"a time-out counts from when the last of those that it waits for was passed": {
			steps: []step{order("s", vertex("db", nil), vertex("slow", after("db"), timingOut("10s", v1alpha1.TimeoutContinue)),
				vertex("top", after("slow"))), passing(11 * time.Second), startedAndReady("db"), passing(late), started("top")},
			wantEarly: []string{"shop/top"}, wantBindings: 2,
		},
		"also if others were passed long before": {
			steps: []step{order("s", vertex("db", nil), vertex("other", after()), vertex("slow", after("db", "other"),
				timingOut("10s", v1alpha1.TimeoutContinue)), vertex("top", after("slow"))), startedAndReady("db"), passing(11 * time.Second),
				startedAndReady("other"), passing(late), started("top")},
			wantEarly: []string{"shop/top"}, wantBindings: 3,
		},
		"and of a group that waits for none from the creation of the sequence": {
			steps: []step{order("s", vertex("db", nil), vertex("slow", after(), timingOut("10s", v1alpha1.TimeoutContinue)),
				vertex("top", after("slow"))), passing(12 * time.Second), started("top")},
			wantBindings: 1,
		},
	})
}

func isReadyOnNode(p *corev1.Pod) { onNode(p); isReadyNow(p) }

func TestJudgeBelievesARecordedPassOfAGraph(t *testing.T) {
	verdict := Judge(tell(
		order("s", vertex("db", nil), vertex("left", after("db")), vertex("right", after("db")), vertex("top", after("left"))),
		report("s", func(s *v1alpha1.PodSequence) {
			recordedPassed(2)(s) // db and left, and not right
		}), watchBegins, started("top"),
	), JudgeOptions{})
	assert.Empty(t, verdict.Violations)
	assert.Equal(t, 2, verdict.AssumedPasses)
}

func TestJudgeSaysThatADependencyIsUnknown(t *testing.T) {
	verdict := Judge(tell(order("s", vertex("db", after("cache")))), JudgeOptions{})
	assert.Equal(t, []string{
		`PodSequence shop/s: group 1/1 "db" depends on "cache", which no group before it is called`}, verdict.Incomplete)
}

func TestTimelineOfAGraphNamesDependencies(t *testing.T) {
	timeline, err := NewTimeline(tell(order("tiers", vertex("db", nil), vertex("left", after("db")), vertex("free", after()),
		vertex("last", nil)), create("db"), create("left"), create("free"), create("last")), shopTiers)
	require.NoError(t, err)
	assert.Regexp(t, `(?s)GROUP +AFTER +POD.*1 db +- +db.*2 left +db +left.*3 free +- +free.*4 last +all before +last`, timeline.String())
}

func TestJudgeKnowsExpectedPods(t *testing.T) {
	const late = 4 * time.Second
	atLeast := func(n int32, fixes ...func(*v1alpha1.PodGroup)) sequenceFix {
		return tier("db", append(fixes, expecting(n))...)
	}
	ofUnknown := func(names ...string) step { return up("db", "leaderworkerset", names...) }
	checkAll(t, map[string]judgement{
		"fewer pods of an unknown kind than expected": {
			steps:     []step{order("s", atLeast(3), tier("app")), ofUnknown("a", "b"), appIsBound},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"as many as expected": {
			steps: []step{order("s", atLeast(3), tier("app")), ofUnknown("a", "b", "c"), appIsBound}, wantBindings: 1,
		},
		"more than expected, of which one is not ready": {
			steps: []step{order("s", atLeast(2), tier("app")), create("d", labelled("tier", "db")), ofUnknown("a", "b"),
				appIsBound},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a workload that asks for more": {
			steps:     []step{order("s", atLeast(1), tier("app")), statefulSet("db", "db", 2), up("db", "db", "db-0"), appIsBound},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a workload that asks for fewer": {
			steps:     []step{order("s", atLeast(2), tier("app")), statefulSet("db", "db", 1), up("db", "db", "db-0"), appIsBound},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a workload that asks for fewer, and a pod beside it": {
			steps: []step{order("s", atLeast(2), tier("app")), statefulSet("db", "db", 1), ofUnknown("a"), up("db", "db", "db-0"),
				appIsBound},
			wantBindings: 1,
		},
		"a workload that is scaled to zero": {
			steps:     []step{order("s", atLeast(1), tier("app")), statefulSet("db", "db", 0), appIsBound},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a percentage is of what is expected": {
			steps:     []step{order("s", atLeast(4, enoughOf("50%")), tier("app")), ofUnknown("a"), appIsBound},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"half of what is expected": {
			steps: []step{order("s", atLeast(4, enoughOf("50%")), tier("app")), ofUnknown("a", "b"), appIsBound}, wantBindings: 1,
		},
		"a number is enough by itself": {
			steps: []step{order("s", atLeast(4, enoughOf("1")), tier("app")), ofUnknown("a"), appIsBound}, wantBindings: 1,
		},
		"enforced continuously, one of them goes": {
			steps:     []step{order("s", continuously, atLeast(2), tier("app")), ofUnknown("a", "b"), remove("a"), passing(late), appIsBound},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"on a node it counts there": {
			steps: []step{node("node-1"), order("s", perNode, atLeast(2), tier("app")),
				create("a", labelled("tier", "db"), onNode, isReadyNow), passing(late), appIsBound},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
		"on a node with as many": {
			steps: []step{node("node-1"), order("s", perNode, atLeast(2), tier("app")),
				create("a", labelled("tier", "db"), onNode, isReadyNow), create("b", labelled("tier", "db"), onNode, isReadyNow), appIsBound},
			wantBindings: 3,
		},
		"an edit of the number voids the pass": {
			steps: []step{order("s", atLeast(1), tier("app")), ofUnknown("a"), passing(late), reorder("s", atLeast(2), tier("app")),
				passing(late), appIsBound},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
	})
}

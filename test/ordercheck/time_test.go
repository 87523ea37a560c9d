package ordercheck

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// The stories begin at a full second, and a step takes a hundredth.

func TestJudgeHasPodsWait(t *testing.T) {
	waits := order("s", tier("db", waiting("10s")), named("app"))
	dbIsReady := several(create("db", labelled("tier", "db")), ready("db"), create("app"))
	checkAll(t, map[string]judgement{
		"a pod bound seconds before the wait is over is early": {
			steps:     []step{waits, dbIsReady, passing(8 * time.Second), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a wait counts from the next full second": {
			steps:     []step{waits, dbIsReady, passing(10*time.Second + 500*time.Millisecond - 50*time.Millisecond), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod bound when it is over is fine": {
			steps: []step{waits, dbIsReady, passing(11 * time.Second), bind("app")}, wantBindings: 1,
		},
		"a pod heard of late is judged by the time that the API server noted": {
			steps: []step{waits, dbIsReady, passing(8 * time.Second), func(s *story) {
				bindTo("app", "node-1")(s)
				s.events[len(s.events)-1].arrived = s.now.Add(20 * time.Second)
			}},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"readiness heard of late does not shorten the wait's end": {
			steps: []step{waits, create("db", labelled("tier", "db")), create("app"), func(s *story) {
				ready("db")(s)
				s.events[len(s.events)-1].arrived = s.now.Add(2 * time.Second)
			}, passing(11 * time.Second), bind("app")},
			wantBindings: 1,
		},
		"a break begins the wait anew": {
			steps: []step{waits, dbIsReady, passing(9 * time.Second), unready("db"), passing(time.Second), ready("db"),
				passing(5 * time.Second), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a break after the wait is over changes nothing": {
			steps:        []step{waits, dbIsReady, passing(11 * time.Second), unready("db"), bind("app")},
			wantBindings: 1,
		},
		"a Ready time to come counts as now": {
			steps: []step{waits, create("db", labelled("tier", "db")), create("app"),
				edit("db", func(p *corev1.Pod) {
					setCondition(p, corev1.PodReady, corev1.ConditionTrue, metav1.NewTime(storyBegin.Add(time.Hour)))
				}), passing(11 * time.Second), bind("app")},
			wantBindings: 1,
		},
		"of a quorum the wait counts from the last that it needs": {
			steps: []step{order("s", tier("db", enoughOf("1"), waiting("10s")), named("app")), create("a", labelled("tier", "db")),
				create("b", labelled("tier", "db")), create("app"), ready("a"), passing(11 * time.Second), ready("b"), bind("app")},
			wantBindings: 1,
		},
		"a wait that began before the watch goes on": {
			steps:        []step{waits, dbIsReady, passing(5 * time.Second), watchBegins, passing(6 * time.Second), bind("app")},
			wantBindings: 1,
		},
		"a wait that began before the watch is waited for": {
			steps:     []step{waits, dbIsReady, passing(5 * time.Second), watchBegins, passing(3 * time.Second), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a shorter wait holds at once and voids no pass": {
			steps: []step{waits, dbIsReady, passing(5 * time.Second),
				reorder("s", tier("db", waiting("3s")), named("app")), passing(time.Second), bind("app")},
			wantBindings: 1,
		},
	})
}

func TestJudgeKnowsTimeOuts(t *testing.T) {
	goesOn := order("s", tier("db", timingOut("10s", v1alpha1.TimeoutContinue)), named("app"))
	checkAll(t, map[string]judgement{
		"a pod bound before the time-out is early": {
			steps:     []step{goesOn, create("app"), passing(8 * time.Second), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod bound after it is fine": {
			steps: []step{goesOn, create("app"), passing(11 * time.Second), bind("app")}, wantBindings: 1,
		},
		"a sequence that fails by it lets nothing go": {
			steps: []step{order("s", tier("db", timingOut("10s", v1alpha1.TimeoutFail)), named("app")), create("app"),
				passing(11 * time.Second), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"it counts from when the group is released": {
			steps: []step{order("s", named("first"), tier("db", timingOut("10s", v1alpha1.TimeoutContinue)), named("app")),
				create("first"), create("app"), passing(5 * time.Second), ready("first"), passing(8 * time.Second), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a group whose wait is under way when it comes is not timed out": {
			steps: []step{order("s", tier("db", waiting("20s"), timingOut("10s", v1alpha1.TimeoutContinue)), named("app")),
				create("db", labelled("tier", "db")), create("app"), ready("db"), passing(12 * time.Second), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
	})
}

func TestJudgeKnowsSuspension(t *testing.T) {
	first, second := named("db", "db-2"), named("app", "app-2")
	tiers := order("s", first, second)
	halt := reorder("s", suspended, first, second)
	goOn := reorder("s", first, second)
	const late = 3 * time.Second
	checkAll(t, map[string]judgement{
		"a sequence created suspended releases nothing, not even its first group": {
			steps:     []step{order("s", suspended, first, second), create("db"), bind("db")},
			wantEarly: []string{"shop/db"}, wantBindings: 1,
		},
		"what was released before stays so": {
			steps: []step{tiers, create("db"), halt, passing(late), bind("db")}, wantBindings: 1,
		},
		"what turns ready while it is suspended releases nothing": {
			steps: []step{tiers, create("db", onNode), create("db-2", onNode), halt, passing(late), ready("db"), ready("db-2"),
				create("app"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 3,
		},
		"what was ready when it was suspended has released": {
			steps: []step{tiers, create("db", onNode), create("db-2", onNode), ready("db"), ready("db-2"), halt, passing(late),
				create("app"), bind("app")},
			wantBindings: 3,
		},
		"a release and a suspension may cross": {
			steps: []step{tiers, create("db"), create("db-2"), halt, ready("db"), ready("db-2"), passing(late),
				create("app"), bind("app")},
			wantBindings: 1,
		},
		"lifting it releases what is passed by then": {
			steps: []step{tiers, create("db"), create("db-2"), halt, passing(late), ready("db"), ready("db-2"),
				goOn, create("app"), bind("app")},
			wantBindings: 1,
		},
		"no time-out runs for what is not released": {
			steps: []step{order("s", suspended, tier("db", timingOut("10s", v1alpha1.TimeoutContinue)), named("app")),
				create("app"), passing(time.Minute), reorder("s", tier("db", timingOut("10s", v1alpha1.TimeoutContinue)), named("app")),
				passing(5 * time.Second), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a release on record before the watch is believed": {
			steps: []step{order("s", suspended, first, second), report("s", func(s *v1alpha1.PodSequence) {
				at := metav1.NewTime(storyBegin)
				s.Status.ObservedGeneration = s.Generation
				s.Status.Groups = []v1alpha1.GroupStatus{{ReleasedAt: &at}, {}}
			}), watchBegins, create("db"), bind("db"), create("app"), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 2,
		},
		"a pod bound before the watch does not show that its group was released": {
			steps: []step{order("s", suspended, first, second), report("s", recordedHashes), create("app", onNode),
				watchBegins, create("app-2"), bind("app-2")},
			wantEarly: []string{"shop/app-2"}, wantBindings: 1,
		},
	})
}

func TestJudgeEnforcesContinuously(t *testing.T) {
	tiers := order("s", continuously, named("db"), named("app", "app-2"))
	dbIsReady := several(create("db"), ready("db"), create("app"))
	checkAll(t, map[string]judgement{
		"a pod bound while the group before is ready is fine": {
			steps: []step{tiers, dbIsReady, bind("app")}, wantBindings: 1,
		},
		"a pod bound before it ever was is early": {
			steps: []step{tiers, create("db"), create("app"), bind("app")}, wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod bound right after it was is fine": {
			steps: []step{tiers, dbIsReady, passing(10 * time.Second), unready("db"), passing(time.Second), bind("app")}, wantBindings: 1,
		},
		"a pod bound long after it was is early, though others are bound": {
			steps:     []step{tiers, dbIsReady, bind("app"), unready("db"), passing(4 * time.Second), create("app-2"), bind("app-2")},
			wantEarly: []string{"shop/app-2"}, wantBindings: 2,
		},
		"an outage within the window does not count": {
			steps: []step{tiers, dbIsReady, unready("db"), passing(10 * time.Second), ready("db"), passing(100 * time.Millisecond),
				unready("db"), bind("app")},
			wantBindings: 1,
		},
		"a scheduler that was stopped goes by what it knew": {
			steps:        []step{tiers, dbIsReady, schedulerStops, unready("db"), passing(time.Minute), schedulerGoesOn, bind("app")},
			wantBindings: 1,
		},
		"but only for a moment": {
			steps: []step{tiers, dbIsReady, schedulerStops, unready("db"), passing(time.Minute), schedulerGoesOn,
				passing(5 * time.Second), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a scheduler that is shown what was goes by that": {
			steps:        []step{tiers, dbIsReady, unready("db"), lagging(4 * time.Second), passing(4 * time.Second), bind("app")},
			wantBindings: 1,
		},
		"but not by what was longer ago": {
			steps:     []step{tiers, dbIsReady, unready("db"), lagging(time.Second), passing(4 * time.Second), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"what was not ready before the watch begins is judged a moment later": {
			steps:     []step{tiers, create("db"), create("app", onNode), create("app-2"), watchBegins, passing(4 * time.Second), bind("app-2")},
			wantEarly: []string{"shop/app-2"}, wantBindings: 1,
		},
		"a rollout in the group before holds new pods": {
			steps: []step{order("s", continuously, tier("db"), named("app", "app-2")), deployment("db", "db", 1),
				replicaSet("db-1", "db", "db", "v1", 1), up("db", "db-1", "a"), create("app"), bind("app"),
				deployment("db", "db", 1, imageOfDeployment("v2")), passing(4 * time.Second), create("app-2"), bind("app-2")},
			wantEarly: []string{"shop/app-2"}, wantBindings: 2,
		},
		"once bootstrapped, the mode may become continuous": {
			steps: []step{order("s", named("db"), named("app")), dbIsReady, unready("db"), passing(4 * time.Second),
				reorder("s", continuously, named("db"), named("app")), create("app-2"), passing(4 * time.Second), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
	})
}

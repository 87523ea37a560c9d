package ordercheck

import (
	"testing"
	"time"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func TestJudgeKnowsSkip(t *testing.T) {
	const late = 4 * time.Second
	list := func(fixes ...sequenceFix) []sequenceFix {
		return append(fixes, vertex("db", nil), vertex("cache", nil, skipped), vertex("app", nil))
	}
	unskipped := func(fixes ...sequenceFix) []sequenceFix {
		return append(fixes, vertex("db", nil), vertex("cache", nil), vertex("app", nil))
	}
	for mode, fix := range map[string]sequenceFix{"once": byDefault, "continuously": continuously, "on a node": perNode} {
		t.Run(mode, func(t *testing.T) {
			onTheNode := node("node-1")
			checkAll(t, map[string]judgement{
				"nobody waits for a group with skip": {
					steps: []step{onTheNode, order("s", list(fix)...), startedAndReady("db"), started("app")}, wantBindings: 2,
				},
				"but for what is ahead of it": {
					steps:     []step{onTheNode, order("s", list(fix)...), passing(late), started("app")},
					wantEarly: []string{"shop/app"}, wantBindings: 1,
				},
				"its own members start in their turn": {
					steps:     []step{onTheNode, order("s", list(fix)...), passing(late), started("cache")},
					wantEarly: []string{"shop/cache"}, wantBindings: 1,
				},
				"through it a group waits for what that waits for": {
					steps: []step{onTheNode, order("s", fix, vertex("db", nil), vertex("cache", after("db"), skipped), vertex("app", after("cache"))),
						passing(late), started("app")},
					wantEarly: []string{"shop/app"}, wantBindings: 1,
				},
				"to skip a group in an edit has the others go on": {
					steps: []step{onTheNode, order("s", unskipped(fix)...), startedAndReady("db"), passing(late), reorder("s", list(fix)...),
						started("app")},
					wantBindings: 2,
				},
				"to take it back holds what has not been released": {
					steps: []step{onTheNode, order("s", list(fix)...), startedAndReady("db"), passing(late), reorder("s", unskipped(fix)...),
						passing(late), started("app")},
					wantEarly: []string{"shop/app"}, wantBindings: 2,
				},
				"also what comes after a group that was passed meanwhile": {
					steps: []step{onTheNode, order("s", append(list(fix), vertex("web", nil))...), startedAndReady("db", "app"), passing(late),
						reorder("s", append(unskipped(fix), vertex("web", nil))...), passing(late), started("web")},
					wantEarly: []string{"shop/web"}, wantBindings: 3,
				},
				"a pod that was on its way when it was taken back is fine": {
					steps: []step{onTheNode, order("s", list(fix)...), startedAndReady("db"), create("app"), reorder("s", unskipped(fix)...),
						bind("app")},
					wantBindings: 2, wantExcused: 1,
				},
				"a group that was ready while it was skipped was passed": {
					steps: []step{onTheNode, order("s", list(fix)...), startedAndReady("db", "cache"), passing(late),
						reorder("s", unskipped(fix)...), started("app")},
					wantBindings: 3,
				},
			})
		})
	}
}

// byDefault leaves a sequence as it is by default.
func byDefault(*v1alpha1.PodSequence) {}

func TestJudgeKnowsDryRuns(t *testing.T) {
	const late = 4 * time.Second
	groups := func(fixes ...sequenceFix) []sequenceFix {
		return append(fixes, named("db"), named("app", "app-2"), named("web"))
	}
	for mode, fix := range map[string]sequenceFix{"once": byDefault, "continuously": continuously, "on a node": perNode} {
		t.Run(mode, func(t *testing.T) {
			onTheNode := node("node-1")
			checkAll(t, map[string]judgement{
				"a dry run holds nothing": {
					steps: []step{onTheNode, order("s", groups(fix, dryRunning)...), passing(late), started("app")},
				},
				"another sequence holds the pod all the same": {
					steps:     []step{onTheNode, order("s", groups(fix, dryRunning)...), order("real", groups(fix)...), passing(late), started("app")},
					wantEarly: []string{"shop/app"}, wantBindings: 1,
				},
				"a suspended sequence holds its pods, dry run or not": {
					steps:     []step{onTheNode, order("s", groups(fix, suspended, dryRunning)...), passing(late), started("db", "app")},
					wantEarly: []string{"shop/db", "shop/app"}, wantBindings: 2,
				},
				"a dry run that is suspended holds what comes": {
					steps: []step{onTheNode, order("s", groups(fix, dryRunning)...), passing(late), started("app"),
						reorder("s", groups(fix, suspended, dryRunning)...), passing(late), started("app-2")},
					wantEarly: []string{"shop/app-2"}, wantBindings: 1,
				},
				"a suspended sequence that is resumed as a dry run holds nothing any more": {
					steps: []step{onTheNode, order("s", groups(fix, suspended, dryRunning)...), passing(late),
						reorder("s", groups(fix, dryRunning)...), started("app")},
				},
				"a pod of another scheduler may lose its gate out of turn": {
					steps: []step{onTheNode, order("s", groups(fix, dryRunning)...), passing(late),
						create("app", scheduledBy("default-scheduler"), gated), release("app"), bind("app")},
				},
				"a pod that was bound meanwhile proves nothing": {
					steps: []step{onTheNode, order("s", groups(fix, dryRunning)...), started("app", "web"), passing(late),
						reorder("s", groups(fix)...), passing(late), started("app-2")},
					wantEarly: []string{"shop/app-2"}, wantBindings: 1,
				},
				"one that was on its way when the dry run ended is fine": {
					steps: []step{onTheNode, order("s", groups(fix, dryRunning)...), create("app", gated), release("app"),
						reorder("s", groups(fix)...), bind("app")},
					wantBindings: 1, wantExcused: 1,
				},
				"but not for long": {
					steps: []step{onTheNode, order("s", groups(fix, dryRunning)...), create("app", gated), release("app"),
						reorder("s", groups(fix)...), passing(late), bind("app")},
					wantEarly: []string{"shop/app"}, wantBindings: 1,
				},
				"a group that was ready meanwhile is ready": {
					steps: []step{onTheNode, order("s", groups(fix, dryRunning)...), startedAndReady("db"), reorder("s", groups(fix)...),
						passing(late), started("app")},
					wantBindings: 1,
				},
				"a sequence that turns to a dry run holds nothing any more": {
					steps: []step{onTheNode, order("s", groups(fix)...), passing(late), reorder("s", groups(fix, dryRunning)...), started("app")},
				},
			})
		})
	}
}

func TestJudgeKnowsOverrides(t *testing.T) {
	const late = 4 * time.Second
	list := func(fixes ...sequenceFix) []sequenceFix {
		return append(fixes, vertex("db", nil), vertex("cache", nil), vertex("app", nil, withPod("app-2")))
	}
	skipCache := overridden("skip", "db , cache", 0)
	for mode, fix := range map[string]sequenceFix{"once": byDefault, "continuously": continuously, "on a node": perNode} {
		t.Run(mode, func(t *testing.T) {
			onTheNode := node("node-1")
			checkAll(t, map[string]judgement{
				"groups that an annotation skips nobody waits for": {
					steps:        []step{onTheNode, order("s", list(fix)...), passing(late), annotate("s", skipCache), started("app")},
					wantBindings: 1,
				},
				"an annotation that names an unknown group skips none": {
					steps:     []step{onTheNode, order("s", list(fix)...), annotate("s", overridden("skip", "db,cache,oops", 0)), passing(late), started("app")},
					wantEarly: []string{"shop/app"}, wantBindings: 1,
				},
				"they are waited for again when the annotation is removed": {
					steps: []step{onTheNode, order("s", list(fix)...), annotate("s", skipCache), passing(late), annotate("s", byDefault),
						passing(late), started("app")},
					wantEarly: []string{"shop/app"}, wantBindings: 1,
				},
				"and when its time is over": {
					steps: []step{onTheNode, order("s", list(fix)...), annotate("s", overridden("skip", "db,cache", 2*time.Second)), started("app"),
						passing(late), started("app-2")},
					wantEarly: []string{"shop/app-2"}, wantBindings: 2,
				},
				"an annotation suspends": {
					steps: []step{onTheNode, order("s", list(fix)...), annotate("s", overridden("suspend", "true", 0)), passing(late),
						startedAndReady("db"), passing(late), started("cache")},
					wantEarly: []string{"shop/cache"}, wantBindings: 2,
				},
				"until its time is over": {
					steps: []step{onTheNode, order("s", list(fix)...), annotate("s", overridden("suspend", "true", 6*time.Second)), passing(late),
						startedAndReady("db"), passing(late), started("cache")},
					wantBindings: 2,
				},
				"an annotation with an end that is no time overrides nothing": {
					steps: []step{onTheNode, order("s", list(fix)...), annotate("s", func(s *v1alpha1.PodSequence) {
						s.Annotations = map[string]string{v1alpha1.SkipAnnotation: "db,cache", v1alpha1.OverrideUntilAnnotation: "tomorrow"}
					}), passing(late), started("app")},
					wantEarly: []string{"shop/app"}, wantBindings: 1,
				},
			})
		})
	}
}

// overridden overrides a spec, until so long after the sequence was created; for ever if that is 0.
func overridden(by, value string, end time.Duration) sequenceFix {
	return func(s *v1alpha1.PodSequence) {
		s.Annotations = map[string]string{"podsequence.example.com/" + by: value}
		if end > 0 {
			s.Annotations[v1alpha1.OverrideUntilAnnotation] = s.CreationTimestamp.Add(end).Format(time.RFC3339)
		}
	}
}

// annotate gives a PodSequence these annotations alone.
func annotate(name string, by sequenceFix) step {
	return report(name, func(s *v1alpha1.PodSequence) { s.Annotations = nil }, by)
}

func withPod(name string) func(*v1alpha1.PodGroup) {
	return func(g *v1alpha1.PodGroup) { g.Pods = append(g.Pods, name) }
}

package sequence

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/report"
	. "example.com/podsequence/test/harness/builders"
)

var shopKey = types.NamespacedName{Namespace: oracleNamespace, Name: "shop"}

// shop is a sequence of three groups of one named pod each.
func shop() *SequenceWrapper {
	return MakeSequence(oracleNamespace, "shop").UID("shop").Pods("One", "one").Pods("Two", "two").Pods("Three", "three")
}

func makePod(name string, version string) *st.PodWrapper {
	p := st.MakePod().Namespace(oracleNamespace).Name(name).UID(name).SchedulerName(oracleScheduler)
	p.Obj().ResourceVersion = version
	return p
}

func TestRecordedPasses(t *testing.T) {
	engine := newEngine()
	engine.ApplySequence(shop().Obj())
	report, ok := engine.Report(shopKey)
	require.True(t, ok)
	hash := func(i int) string { return report.Groups[i].Hash }
	now := metav1.Now()

	tests := map[string]struct {
		sequence    *SequenceWrapper
		wantCurrent int
	}{
		"no record": {
			sequence: shop(), wantCurrent: 0,
		},
		"the first group's pass is recorded": {
			sequence: shop().Passed(0, hash(0), now), wantCurrent: 1,
		},
		"a record speaks for its own group only": {
			sequence: shop().Passed(1, hash(1), now), wantCurrent: 0,
		},
		"a record under another hash is void": {
			sequence: shop().Passed(0, hash(0), now).Passed(1, "another", now), wantCurrent: 1,
		},
		"appending a group keeps records": {
			sequence: shop().Pods("Four", "four").Passed(0, hash(0), now).Passed(1, hash(1), now).Passed(2, hash(2), now), wantCurrent: 3,
		},
		"a record of more groups than there are now counts as far as they agree": {
			sequence: MakeSequence(oracleNamespace, "shop").UID("shop").Pods("One", "one").
				Passed(0, hash(0), now).Passed(2, hash(2), now),
			wantCurrent: 1,
		},
		"another first group voids all records": {
			sequence: MakeSequence(oracleNamespace, "shop").UID("shop").Pods("One", "uno").Pods("Two", "two").
				Passed(0, hash(0), now).Passed(1, hash(1), now),
			wantCurrent: 0,
		},
		"another target namespace voids all records": {
			sequence: shop().TargetNamespace("elsewhere").Passed(1, hash(1), now), wantCurrent: 0,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			engine := newEngine()
			elsewhere := allowing("*", "1")
			elsewhere.Name = "elsewhere"
			engine.ApplyNamespace(elsewhere)
			engine.ApplySequence(test.sequence.Obj())
			report, ok := engine.Report(shopKey)
			require.True(t, ok)
			assert.Equal(t, test.wantCurrent, report.Current)
		})
	}

	t.Run("a record that comes later lets pods go", func(t *testing.T) {
		engine := newEngine()
		engine.ApplySequence(shop().Obj())
		engine.ApplyPod(makePod("two", "1").Obj())
		changes := engine.ApplySequence(shop().Passed(0, hash(0), now).Obj())
		require.Len(t, changes.Released, 1)
		assert.Equal(t, "two", changes.Released[0].Name)
	})
}

func TestStoredObjectThatTodaysRulesReject(t *testing.T) {
	broken := MakeSequence(oracleNamespace, "shop").UID("shop").
		Pods("One", "one").
		Group(v1alpha1.PodGroup{Name: "Neither"}).
		Expression("Operator", "tier", "Near", "db").
		Pods("Four", "four").Obj()
	engine := newEngine()
	engine.ApplyPod(makePod("one", "1").Obj())
	engine.ApplyPod(makePod("four", "1").Obj())
	engine.ApplySequence(broken)

	assert.False(t, engine.Decide(makePod("one", "1").Obj()).Held, "a group before the broken one goes")
	assert.True(t, engine.Decide(makePod("four", "1").Obj()).Held, "a group after the broken one stays held")
	report, ok := engine.Report(shopKey)
	require.True(t, ok)
	require.Len(t, report.Problems, 2)
	for _, p := range report.Problems {
		assert.Equal(t, v1alpha1.ReasonInvalidSpec, p.Reason)
	}
	assert.Contains(t, report.Problems[0].Message, "spec.podGroups[1] must set exactly one of pods and podSelector")
	assert.Contains(t, report.Problems[1].Message, "spec.podGroups[2].podSelector")
}

// The scheduler's own informer and the engine's watch are two streams: the scheduler may ask about what the engine has
// not been told.
func TestPodsThatTheEngineDoesNotKnowYet(t *testing.T) {
	t.Run("a pod that no event has brought is judged by its own name and labels", func(t *testing.T) {
		engine := newEngine()
		engine.ApplySequence(shop().Obj())
		assert.True(t, engine.Decide(makePod("two", "7").Obj()).Held)
		assert.False(t, engine.Decide(makePod("one", "7").Obj()).Held)
		assert.False(t, engine.Decide(makePod("stranger", "7").Obj()).Held)
	})
	t.Run("its release is reported once it is known, though its group was opened before", func(t *testing.T) {
		engine := newEngine()
		engine.ApplySequence(shop().Obj())
		require.True(t, engine.Decide(makePod("two", "7").Obj()).Held)
		opened := engine.ApplyPod(makePod("one", "8").Phase(corev1.PodSucceeded).Node("n").Obj())
		assert.Empty(t, opened.Released)
		changes := engine.ApplyPod(makePod("two", "7").Obj())
		require.Len(t, changes.Released, 1)
		assert.Equal(t, "two", changes.Released[0].Name)
	})
	t.Run("its release is reported though the sequence that held it is gone by then", func(t *testing.T) {
		engine := newEngine()
		engine.ApplySequence(shop().Obj())
		require.True(t, engine.Decide(makePod("two", "7").Obj()).Held)
		engine.RemoveSequence(shopKey, "")
		assert.Len(t, engine.ApplyPod(makePod("two", "7").Obj()).Released, 1)
	})
	t.Run("a newer version with other labels is judged by these", func(t *testing.T) {
		engine := newEngine()
		engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Pods("One", "one").Label("Two", "tier", "two").Obj())
		engine.ApplyPod(makePod("p", "5").Obj())
		assert.True(t, engine.Decide(makePod("p", "6").Label("tier", "two").Obj()).Held)
		assert.False(t, engine.Decide(makePod("p", "5").Obj()).Held)
	})
	t.Run("an older version is judged by what the engine knows", func(t *testing.T) {
		engine := newEngine()
		engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Pods("One", "one").Label("Two", "tier", "two").Obj())
		engine.ApplyPod(makePod("p", "6").Label("tier", "two").Obj())
		assert.True(t, engine.Decide(makePod("p", "5").Obj()).Held)
	})
	t.Run("a newer version that asks for another node waits until it is known", func(t *testing.T) {
		engine := fleet(2) // the second node has no driver yet
		pod := func(version, node string) *corev1.Pod {
			return makePod("p", version).Label("tier", "app").NodeAffinityIn("metadata.name", []string{node}, st.NodeSelectorTypeMatchFields).Obj()
		}
		engine.ApplyPod(pod("5", "node-0"))
		assert.False(t, engine.Verdict(pod("5", "node-0")).Held)
		assert.True(t, engine.Verdict(pod("6", "node-1")).Held)
		assert.Empty(t, engine.ApplyPod(pod("6", "node-1")).Released, "it waits for the driver")
		engine.ApplyPod(driver(1, "7", corev1.ConditionTrue))
		assert.False(t, engine.Verdict(pod("6", "node-1")).Held)
	})
	t.Run("a remembered pod is reported when it comes, and only once", func(t *testing.T) {
		engine := newEngine()
		engine.ReportWhenSeen(makePod("p", "1").Obj())
		assert.Len(t, engine.ApplyPod(makePod("p", "1").Obj()).Released, 1)
		assert.Empty(t, engine.ApplyPod(makePod("p", "2").Obj()).Released)
	})
}

func TestReplacePodsIsOneStep(t *testing.T) {
	engine := newEngine()
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Pods("Pair", "a", "b").Pods("Next", "next").Obj())
	ready := func(name, version string) *corev1.Pod {
		return makePod(name, version).Node("n").Conditions([]corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}).Obj()
	}
	unready := func(name, version string) *corev1.Pod { return makePod(name, version).Node("n").Obj() }
	engine.ApplyPod(unready("a", "1"))
	engine.ApplyPod(ready("b", "2"))
	engine.ApplyPod(makePod("next", "3").Obj())

	// While the watch was broken b lost its readiness, and only then a became ready: the two were never ready together,
	// though entering a before b would make it look so.
	engine.ReplacePods([]*corev1.Pod{ready("a", "12"), unready("b", "11"), makePod("next", "3").Obj()}, "")
	assert.True(t, engine.Decide(makePod("next", "3").Obj()).Held)

	changes := engine.ReplacePods([]*corev1.Pod{ready("a", "12"), ready("b", "13"), makePod("next", "3").Obj()}, "")
	require.Len(t, changes.Released, 1)
	assert.Equal(t, "next", changes.Released[0].Name)
}

func TestEverything(t *testing.T) {
	engine := newEngine()
	engine.ReplacePods([]*corev1.Pod{
		makePod("one", "1").Obj(), makePod("two", "2").Obj(), makePod("plain", "3").Obj(),
		makePod("bound", "4").Node("n").Obj(),
	}, "")
	engine.ReplaceSequences([]order.Stored{{PodSequence: shop().Obj()}}, "")

	all := engine.Everything()
	var released []string
	for _, r := range all.Released {
		released = append(released, r.Name)
	}
	assert.ElementsMatch(t, []string{"one", "plain"}, released)
	assert.Equal(t, []types.NamespacedName{{Namespace: oracleNamespace, Name: "two"}}, all.Held)
	assert.True(t, all.Sequences.Has(shopKey))
}

func TestUngovernedPods(t *testing.T) {
	engine := newEngine()
	engine.ApplySequence(shop().Obj())
	for _, name := range []string{"one", "two"} {
		engine.ApplyPod(makePod(name, "1").SchedulerName("default-scheduler").Node("n").Obj())
	}
	report, _ := engine.Report(shopKey)
	require.Len(t, report.Problems, 2)
	assert.Equal(t, []string{"two"}, report.OutOfOrder.Pods, "a pod of the first group is never too early")
	assert.Equal(t, v1alpha1.ReasonStartedOutOfOrder, report.Problems[0].Reason, "the order is broken already")
	assert.Equal(t, order.Problem{
		Reason:  v1alpha1.ReasonUngovernedPods,
		Message: "two cannot be held: set schedulerName to podsequence-scheduler, or add the scheduling gate podsequence.example.com/sequence-gate, in the pod template",
	}, report.Problems[1])
}

func TestWaitingPatch(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	gated := func(message string) []corev1.PodCondition {
		return []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated, Message: message,
		}}
	}
	tests := map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"a pod without the condition gets it, with a transition time": {
			pod:  makePod("p", "5").Obj(),
			want: `{"metadata":{"resourceVersion":"5","uid":"p"},"status":{"conditions":[{"lastTransitionTime":"2026-01-01T00:00:00Z","message":"why","reason":"SchedulingGated","status":"False","type":"PodScheduled"}]}}`,
		},
		"another message is written without a new transition time": {
			pod:  makePod("p", "5").Conditions(gated("before")).Obj(),
			want: `{"metadata":{"resourceVersion":"5","uid":"p"},"status":{"conditions":[{"message":"why","reason":"SchedulingGated","status":"False","type":"PodScheduled"}]}}`,
		},
		"the same message is not written again": {
			pod: makePod("p", "5").Conditions(gated("why")).Obj(),
		},
		"a bound pod is left alone": {
			pod: makePod("p", "5").Node("n").Obj(),
		},
		"a terminating pod is left alone": {
			pod: makePod("p", "5").Terminating().Obj(),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, string(report.WaitingPatch(test.pod, "why", now)))
		})
	}
}

func TestLiftPatchNamesTheUIDAndOnlyTheseGates(t *testing.T) {
	var patch map[string]any
	require.NoError(t, json.Unmarshal(LiftPatch(Lift{UID: "u", Gates: []string{"a/b"}}), &patch))
	assert.Equal(t, map[string]any{
		"metadata": map[string]any{"uid": "u"},
		"spec":     map[string]any{"schedulingGates": []any{map[string]any{"$patch": "delete", "name": "a/b"}}},
	}, patch)
}

func TestStatusTimes(t *testing.T) {
	created := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	now := created.Add(time.Minute)
	hash := order.Compile(order.Stored{PodSequence: shop().Obj()}, nil, time.Time{}).Groups[0].Hash
	tests := map[string]struct {
		readyAt       time.Time // zero: the group is not ready, but a pod of the next one is bound
		before        v1alpha1.GroupStatus
		wantSatisfied *time.Time
		wantPassed    time.Time
	}{
		"a group is passed when that is recorded, not when its last pod turned ready": {
			readyAt: created.Add(10 * time.Second), wantSatisfied: new(created.Add(10 * time.Second)), wantPassed: now,
		},
		"also if it was ready before the sequence was created": {
			readyAt: created.Add(-time.Hour), wantSatisfied: new(created.Add(-time.Hour)), wantPassed: now,
		},
		"a time in the future counts as now": {
			readyAt: now.Add(time.Hour), wantSatisfied: new(now), wantPassed: now,
		},
		"a recorded pass keeps its time": {
			readyAt:       now,
			before:        v1alpha1.GroupStatus{Hash: hash, PassedAt: new(metav1.NewTime(created.Add(5 * time.Second)))},
			wantSatisfied: new(now), wantPassed: created.Add(5 * time.Second),
		},
		"a record under another hash does not": {
			readyAt:       now,
			before:        v1alpha1.GroupStatus{Hash: "other", PassedAt: new(metav1.NewTime(created))},
			wantSatisfied: new(now), wantPassed: now,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ps := shop().Obj()
			ps.CreationTimestamp = metav1.NewTime(created)
			ps.Status.Groups = []v1alpha1.GroupStatus{test.before}
			engine := newEngine()
			engine.Tick(now)
			for _, name := range ps.Spec.PodGroups[0].Pods {
				p := makePod(name, "1").Node("n").Obj()
				if !test.readyAt.IsZero() {
					p.Status.Conditions = []corev1.PodCondition{{
						Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(test.readyAt),
					}}
				}
				engine.ApplyPod(p)
			}
			engine.ApplySequence(ps)

			report, ok := engine.Report(types.NamespacedName{Namespace: ps.Namespace, Name: ps.Name})
			require.True(t, ok)
			got := report.Status(ps, now).Groups[0]
			if test.wantSatisfied == nil {
				assert.Nil(t, got.SatisfiedAt)
			} else {
				assert.Equal(t, *test.wantSatisfied, got.SatisfiedAt.Time)
			}
			assert.Equal(t, test.wantPassed, got.PassedAt.Time)
			assert.Equal(t, created, got.ReleasedAt.Time)
		})
	}
}

// What was held when the sequence was suspended stays held, though status has not said so yet.
func TestASuspensionReleasesNothingThatWasHeldAgain(t *testing.T) {
	hash := func() string {
		e := newEngine()
		e.ApplySequence(shop().Obj())
		return e.sequences[shopKey].groups[1].Hash
	}()
	released := metav1.NewTime(ripeAt)
	stale := func(version string, generation int64) *SequenceWrapper {
		s := shop().Mode(v1alpha1.Continuous)
		s.ResourceVersion, s.PodSequence.Generation = version, generation
		s.Status.Groups = []v1alpha1.GroupStatus{{}, {Hash: hash, ReleasedAt: &released}}
		return s
	}
	ready := func(version string) *corev1.Pod { return readyPod(oracleNamespace, "one", "", version) }
	e := newEngine()
	e.Tick(ripeAt)
	e.ApplyPod(ready("1"))
	e.ApplyPod(makePod("two", "1").Obj())
	e.ApplySequence(stale("2", 1).Obj())
	require.False(t, e.Decide(makePod("two", "1").Obj()).Held)
	e.ApplyPod(makePod("one", "3").Node("node").Obj())
	require.True(t, e.Decide(makePod("two", "1").Obj()).Held)
	suspended := stale("4", 2)
	suspended.Spec.Suspend = true
	e.ApplySequence(suspended.Obj())
	e.ApplyPod(ready("5"))
	assert.True(t, e.Decide(makePod("two", "1").Obj()).Held)
	r, ok := e.Report(shopKey)
	require.True(t, ok)
	assert.Nil(t, r.Status(suspended.Obj(), ripeAt).Groups[1].ReleasedAt, "a restart must not find it released")
}

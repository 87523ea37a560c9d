package sequence

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/report"
	. "example.com/podsequence/test/harness/builders"
)

// PreEnqueue asks under the lock of the scheduler's queue, for every pod that is added or activated.
func TestAskingForAKnownPodEvaluatesNothing(t *testing.T) {
	engine := newEngine()
	for i := range 100 {
		name := fmt.Sprintf("s-%d", i)
		engine.ApplySequence(MakeSequence(oracleNamespace, name).UID(name).Pods("One", name).Label("Two", "of", name).Obj())
	}
	held := makePod("held", "5").Label("of", "s-7").Obj()
	free := makePod("free", "6").Obj()
	engine.ApplyPod(held)
	engine.ApplyPod(free)

	require.True(t, engine.Verdict(held).Held)
	require.False(t, engine.Verdict(free).Held)
	const key = 1 // by which the verdict is found
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { engine.Verdict(held) }), float64(key))
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { engine.Verdict(free) }), float64(key))
}

// People may annotate their pods as often as they like, and have them in many sequences.
func TestAPodThatOnlyChangesInWhatNobodyLooksAtTouchesNoSequence(t *testing.T) {
	engine := newEngine()
	engine.ApplySequence(MakeSequence(oracleNamespace, "shop").UID("shop").Pods("One", "one").Label("Two", "", "").Obj())
	engine.ApplyPod(makePod("app", "5").Obj())
	annotated := makePod("app", "6").Annotation("a", "b").Obj()
	assert.True(t, new(engine.ApplyPod(annotated)).Empty())
	assert.True(t, engine.Verdict(annotated).Held)
	assert.NoError(t, checkPublished(engine.Engine))
	assert.False(t, new(engine.ApplyPod(makePod("app", "7").Node("n").Obj())).Empty())
}

// Thousands of pods may turn ready one after the other in a group that has enough of them. To look at all of them takes memory.
func TestOneMorePodThanNeededIsNoReasonToLookAtTheOthers(t *testing.T) {
	engine, others := moreThanNeeded(10_000)
	report, _ := engine.Report(shopKey)
	require.True(t, report.Groups[0].Satisfied)
	assert.Less(t, allocated(func() {
		for _, pod := range others[:100] {
			engine.ApplyPod(pod)
		}
	}), uint64(100*10_000))
	assert.NoError(t, checkSums(engine.Engine))
}

// The pods of a group are looked at once, however many pods of the next one started before they were ready.
func TestPodsOutOfOrderAreJudgedTogether(t *testing.T) {
	engine, ps := startedOutOfOrder(2000)
	var report report.Report
	assert.Less(t, allocated(func() { engine.ApplySequence(ps) }), uint64(10<<20))
	assert.Less(t, allocated(func() { report, _ = engine.Report(shopKey) }), uint64(5<<20))
	assert.Len(t, report.OutOfOrder.Pods, 2000)
}

// A controller may write into its object each second how far it is. That is as much on all nodes as on one.
func TestOtherWordsOfAnObjectAreNoWorkForNodes(t *testing.T) {
	const nodes = 1000
	engine := newEngine()
	for i := range nodes {
		engine.ApplyNode(fleetNode(i, "1"))
	}
	version := 1
	says := func(words string) *v1alpha1.PodSequence {
		version++
		queue := v1alpha1.ObjectReference{APIVersion: "example.com/v1", Kind: "Queue", Name: "orders", Until: "Ready"}
		ps := MakeSequence(oracleNamespace, "shop").UID("shop").NodeScope().Objects("Queue", queue).Label("App", "tier", "app").Obj()
		ps.ResourceVersion = strconv.Itoa(version)
		ps.Status.Groups = []v1alpha1.GroupStatus{{Objects: []v1alpha1.ObjectStatus{{
			APIVersion: queue.APIVersion, Kind: queue.Kind, Name: queue.Name, Until: queue.Until, State: v1alpha1.ObjectWaiting, Message: words,
		}}}}
		return ps
	}
	engine.ApplySequence(says("0 of 100"))
	require.Len(t, engine.sequences[shopKey].domains, nodes+1)
	evaluated := func(ps *v1alpha1.PodSequence) (domains int) {
		engine.settleAt(ps.ResourceVersion, func(tx *transaction) {
			engine.applySequence(order.Stored{PodSequence: ps}, tx)
			domains = len(tx.dirtyDomains)
		})
		return domains
	}
	assert.Equal(t, 1, evaluated(says("1 of 100")))
	report, _ := engine.Report(shopKey)
	assert.Equal(t, "Queue orders is not ready: 1 of 100", report.Groups[0].Progress)
	ready := says("")
	ready.Status.Groups[0].Objects[0].State = v1alpha1.ObjectSatisfied
	assert.Equal(t, nodes+1, evaluated(ready))
}

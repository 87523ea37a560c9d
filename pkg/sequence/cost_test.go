package sequence

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

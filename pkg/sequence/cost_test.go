package sequence

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
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

// A namespace may have very many pods.
func TestAnEditThatMovesNoPodMatchesNone(t *testing.T) {
	key := types.NamespacedName{Namespace: oracleNamespace, Name: "shop"}
	shop := func(generation int64) *SequenceWrapper {
		return MakeSequence(key.Namespace, key.Name).UID("shop").Generation(generation).Pods("One", "one").Label("Two", "", "")
	}
	tests := map[string]struct {
		edited    *SequenceWrapper
		wantMatch bool
	}{
		"a suspension":       {edited: shop(2).Suspend()},
		"a mode":             {edited: shop(2).Mode(v1alpha1.Continuous)},
		"a wait":             {edited: shop(2).Wait("10s")},
		"another selector":   {edited: MakeSequence(key.Namespace, key.Name).UID("shop").Generation(2).Pods("One", "one").Label("Two", "tier", "two"), wantMatch: true},
		"one group more":     {edited: shop(2).Label("Three", "", ""), wantMatch: true},
		"made again":         {edited: shop(1).UID("another"), wantMatch: true},
		"another scope":      {edited: shop(2).NodeScope(), wantMatch: true},
		"another namespace":  {edited: shop(2).TargetNamespace("other"), wantMatch: true},
		"the group is named": {edited: MakeSequence(key.Namespace, key.Name).UID("shop").Generation(2).Pods("First", "one").Label("Second", "", "")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			engine := newEngine()
			engine.ApplySequence(shop(1).Obj())
			app := makePod("app", "5").Obj()
			engine.ApplyPod(app)
			members := func() any { return reflect.ValueOf(engine.sequences[key].domains[""].peek(1).members).Pointer() }
			before := members()
			engine.ApplySequence(test.edited.Obj())
			assert.Equal(t, test.wantMatch, before != members())
			assert.NoError(t, checkPublished(engine.Engine))
		})
	}
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

package sequence

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	. "example.com/podsequence/internal/testing"
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

	require.True(t, engine.Decide(held).Held)
	require.False(t, engine.Decide(free).Held)
	assert.Zero(t, testing.AllocsPerRun(100, func() { engine.Decide(held) }))
	assert.Zero(t, testing.AllocsPerRun(100, func() { engine.Decide(free) }))
}

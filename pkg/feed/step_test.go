package feed

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"example.com/podsequence/pkg/sequence"
)

func TestNothingIsReleasedBeforeTheSequencesOfBothKindsAreKnown(t *testing.T) {
	for _, last := range []int{0, 1} {
		var told []sequence.Changes
		f := &Feed{
			engine: sequence.NewEngine(sequence.Config{}), sink: func(changes sequence.Changes) { told = append(told, changes) },
			sequences: [2]*sequenceKind{{}, {}}, clock: clock.RealClock{}, timer: clock.RealClock{}.NewTimer(math.MaxInt64),
		}
		release := func() sequence.Changes { return sequence.Changes{Released: []sequence.Release{{Name: "app"}}} }
		f.setState("nothing is known yet")
		f.sequences[1-last].listed = true
		f.open()
		assert.False(t, f.Synced())
		f.apply(release)
		assert.Empty(t, told)
		f.sequences[last].listed = true
		f.open()
		assert.True(t, f.Synced())
		f.apply(release)
		assert.Equal(t, []sequence.Changes{release()}, told)
	}
}

func TestAListThatFailsIsNamedUntilOneIsComplete(t *testing.T) {
	engine := sequence.NewEngine(sequence.Config{})
	f := &Feed{engine: engine, sink: func(sequence.Changes) {}, clock: clock.RealClock{}, timer: clock.RealClock{}.NewTimer(math.MaxInt64)}
	f.setState("the lists are not complete")
	f.reportFailed("pods")(t.Context(), errors.New("refused"))
	assert.Equal(t, "pods cannot be listed: refused", f.Why())
	pods := newObjectStore(f, engine.ApplyPod, engine.RemovePod, engine.ReplacePods)
	require.NoError(t, pods.Replace(nil, "1"))
	assert.Equal(t, "the lists are not complete", f.Why())
}

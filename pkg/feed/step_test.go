package feed

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/pkg/sequence"
)

func TestNothingIsReleasedBeforeTheSequencesOfBothKindsAreKnown(t *testing.T) {
	for _, last := range []int{0, 1} {
		f := &Feed{
			engine: sequence.NewEngine(sequence.Config{}), sink: func(sequence.Changes) {},
			sequences: [2]*sequenceKind{{}, {}},
		}
		f.setState("nothing is known yet")
		f.sequences[1-last].listed = true
		f.open()
		assert.False(t, f.Synced())
		f.sequences[last].listed = true
		f.open()
		assert.True(t, f.Synced())
	}
}

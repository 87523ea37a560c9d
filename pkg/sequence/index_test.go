package sequence

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSmallSetsHoldWhatMapsHold(t *testing.T) {
	const values = 3 * mostFew
	index, want := smallSets[int, int]{}, map[int]struct{}{}
	check := func() {
		t.Helper()
		assert.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(index[0].all()))
		assert.Equal(t, len(want) > 0, index[0] != nil, "no key is left without values")
		assert.Empty(t, slices.Collect(index[1].all()))
	}
	for range 4 { // up and down again
		for _, i := range rand.Perm(values) {
			index.insert(0, i)
			want[i] = struct{}{}
			if len(want)%50 == 0 {
				check()
			}
		}
		for _, i := range rand.Perm(values) {
			index.remove(0, i)
			index.remove(0, i) // once more changes nothing
			delete(want, i)
			if len(want)%50 == 0 {
				check()
			}
		}
	}
}

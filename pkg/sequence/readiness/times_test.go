package readiness

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/pkg/sequence/inventory"
)

func TestTimesOfNoPods(t *testing.T) {
	times := Times{}
	assert.Zero(t, times.When(0))
	assert.Zero(t, times.When(1))
	times.Add(5, +1)
	times.Add(5, -1)
	assert.Zero(t, times.When(1))
	assert.Zero(t, times.Len())
}

// TestTimesAreInOrder compares with times that are sorted for every question.
func TestTimesAreInOrder(t *testing.T) {
	for name, seconds := range map[string]func(i int) inventory.Timestamp{
		"of few seconds":        func(int) inventory.Timestamp { return inventory.Timestamp(rand.IntN(5)) },
		"of many seconds":       func(int) inventory.Timestamp { return inventory.Timestamp(rand.IntN(100_000)) },
		"one after the other":   func(i int) inventory.Timestamp { return inventory.Timestamp(i) },
		"one before the other":  func(i int) inventory.Timestamp { return inventory.Timestamp(100_000 - i) },
		"as a list brings them": func(i int) inventory.Timestamp { return inventory.Timestamp(i * 7919 % 100_003) },
	} {
		t.Run(name, func(t *testing.T) {
			times, want := Times{}, []inventory.Timestamp(nil)
			for i := range 4 * longestBlock {
				at := seconds(i)
				times.Add(at, +1)
				want = append(want, at)
				if i%3 == 2 {
					gone := rand.IntN(len(want))
					times.Add(want[gone], -1)
					want = slices.Delete(want, gone, gone+1)
				}
			}
			for len(want) > 0 {
				sorted := slices.Sorted(slices.Values(want))
				require.Equal(t, len(want), times.Len())
				for _, pods := range []int{1, 1 + rand.IntN(len(want)), len(want), len(want) + 1} {
					require.Equal(t, sorted[min(pods, len(want))-1], times.When(pods), "%d of %d pods", pods, len(want))
				}
				for _, b := range times.blocks {
					require.NotEmpty(t, b.counts)
					require.LessOrEqual(t, len(b.counts), longestBlock)
				}
				for range min(len(want), 50) {
					gone := rand.IntN(len(want))
					times.Add(want[gone], -1)
					want = slices.Delete(want, gone, gone+1)
				}
			}
			assert.Len(t, times.blocks, 1)
			assert.Empty(t, times.blocks[0].counts)
		})
	}
}

func TestOfAWorkloadOnlyTheEarliestCountThatItNeeds(t *testing.T) {
	times, others := Times{}, Times{}
	times.Add(5, 1)
	times.Add(1, 2)
	others.Add(9, 1)
	others.Add(3, 1)
	times.AddNext(0, 1, &others)
	assert.Equal(t, map[inventory.Timestamp]int{1: 2, 3: 1, 5: 1}, maps.Collect(times.All()))
	assert.Equal(t, inventory.Timestamp(1), times.When(2))
	assert.Equal(t, inventory.Timestamp(3), times.When(3))
	assert.Equal(t, inventory.Timestamp(5), times.When(4))
	assert.Equal(t, 2, others.Len())
}

func TestOfADaemonSetTheEarliestAreSkippedThatItHasTooMany(t *testing.T) {
	times, others := Times{}, Times{}
	others.Add(3, 2)
	others.Add(5, 2)
	others.Add(9, 1)
	times.AddNext(1, 3, &others)
	assert.Equal(t, map[inventory.Timestamp]int{3: 1, 5: 2}, maps.Collect(times.All()))
	times.AddNext(3, 3, &others)
	assert.Equal(t, map[inventory.Timestamp]int{3: 1, 5: 3, 9: 1}, maps.Collect(times.All()))
}

package world

import (
	"math/rand/v2"
	"time"
)

// dice are all the chance that there is in a world.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0))} }

// chance is true so many times of a hundred.
func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

// between is a number from low to high.
func (d dice) between(low, high int) int { return low + d.IntN(high-low+1) }

// moment is a time from low to high, in tenths of a second, so that plans are readable.
func (d dice) moment(low, high time.Duration) time.Duration {
	const unit = 100 * time.Millisecond
	return low + time.Duration(d.Int64N(int64((high-low)/unit)+1))*unit
}

// one is one of these.
func one[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }

// some are the elements that so many percent of chance leaves, in the same order.
func some[T any](d dice, percent int, of []T) []T {
	chosen := []T{}
	for _, element := range of {
		if d.chance(percent) {
			chosen = append(chosen, element)
		}
	}
	return chosen
}

package order

import (
	"iter"
	"math/bits"
)

// MaxGroups is the most groups that a sequence can have: its kind never allowed more.
const MaxGroups = 64

// GroupSet is a set of groups of one sequence. Bit i stands for the group with the 0-based index i.
type GroupSet uint64

// Before returns the set of the groups with a lower index.
func Before(group int) GroupSet { return 1<<group - 1 }

// Has reports whether the group is in the set.
func (s GroupSet) Has(group int) bool { return s&(1<<uint(group)) != 0 }

// Add puts the group into the set.
func (s *GroupSet) Add(group int) { *s |= 1 << uint(group) }

// First returns the lowest group in the set; MaxGroups if it is empty.
func (s GroupSet) First() int { return bits.TrailingZeros64(uint64(s)) }

// All returns the groups in the set, in order.
func (s GroupSet) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(s.First()) {
				return
			}
		}
	}
}

// FirstMissing returns the lowest group that is not in the set.
func (s GroupSet) FirstMissing() int { return bits.TrailingZeros64(^uint64(s)) }

// Contains reports whether every group of the other set is in the set.
func (s GroupSet) Contains(other GroupSet) bool { return other&^s == 0 }

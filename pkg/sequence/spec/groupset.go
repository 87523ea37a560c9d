package spec

import "math/bits"

// MaxGroups is the most groups that a sequence can have.
const MaxGroups = 64

// GroupSet is a set of groups of one sequence. Bit i stands for the group with the 0-based index i.
type GroupSet uint64

// Before returns the set of the groups with a lower index.
func Before(group int) GroupSet {
	if group >= MaxGroups {
		return ^GroupSet(0)
	}
	return 1<<group - 1
}

// Has reports whether the group is in the set.
func (s GroupSet) Has(group int) bool { return s&(1<<uint(group)) != 0 }

// Add puts the group into the set.
func (s *GroupSet) Add(group int) { *s |= 1 << uint(group) }

// FirstMissing returns the lowest group that is not in the set.
func (s GroupSet) FirstMissing() int { return bits.TrailingZeros64(^uint64(s)) }

// Contains reports whether every group of the other set is in the set.
func (s GroupSet) Contains(other GroupSet) bool { return other&^s == 0 }

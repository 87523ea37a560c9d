package placement

// Slots is a set of slots, see Nodes.
type Slots []uint64

// Has reports whether a slot is in the set.
func (s Slots) Has(slot int) bool { return slot/64 < len(s) && s[slot/64]&(1<<(slot%64)) != 0 }

// Add adds a slot.
func (s *Slots) Add(slot int) {
	for len(*s) <= slot/64 {
		*s = append(*s, 0)
	}
	(*s)[slot/64] |= 1 << (slot % 64)
}

// Remove takes a slot out, if it is in the set.
func (s Slots) Remove(slot int) {
	if s.Has(slot) {
		s[slot/64] &^= 1 << (slot % 64)
	}
}

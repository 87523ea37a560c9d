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

// SlotCount is a set of slots that knows how many there are.
type SlotCount struct {
	slots Slots
	count int
}

// Len returns how many slots are in the set.
func (s *SlotCount) Len() int { return s.count }

// Has reports whether a slot is in the set.
func (s *SlotCount) Has(slot int) bool { return s.slots.Has(slot) }

// Set adds a slot, or takes it out.
func (s *SlotCount) Set(slot int, in bool) {
	switch has := s.slots.Has(slot); {
	case in && !has:
		s.slots.Add(slot)
		s.count++
	case has && !in:
		s.slots.Remove(slot)
		s.count--
	}
}

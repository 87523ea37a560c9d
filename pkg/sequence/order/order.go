package order

import (
	"bytes"
	"crypto/sha256"
	"slices"
)

// order says of each group which groups come before it.
type order []GroupSet

// direct returns those of a set of groups after which no other group of the set comes.
func (o order) direct(set GroupSet) GroupSet {
	direct := set
	for i := range set.All() {
		direct &^= o[i]
	}
	return direct
}

// hashes returns what stands for the definition of each group and of those before it. That of a list is a chain. Records of
// them are stored in status: the same definitions must always have the same hashes.
func (o order) hashes(stored Stored, namespace string) [][sha256.Size]byte {
	hashes := make([][sha256.Size]byte, len(o))
	for i := range hashes {
		hashes[i] = chain(o.base(i, hashes, namespace), define(stored, i))
		for slices.Contains(hashes[:i], hashes[i]) { // the same group once more, after the same groups
			hashes[i] = sha256.Sum256(hashes[i][:])
		}
	}
	return hashes
}

// base returns what stands for the groups before one. In which order these are listed makes no difference.
func (o order) base(i int, hashes [][sha256.Size]byte, namespace string) [sha256.Size]byte {
	var before [][]byte
	for j := range o.direct(o[i]).All() {
		before = append(before, hashes[j][:])
	}
	switch len(before) {
	case 0:
		return sha256.Sum256([]byte(namespace))
	case 1:
		return [sha256.Size]byte(before[0])
	}
	slices.SortFunc(before, bytes.Compare)
	return sha256.Sum256(bytes.Join(before, nil))
}

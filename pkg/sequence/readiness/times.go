package readiness

import (
	"cmp"
	"iter"
	"slices"

	"example.com/podsequence/pkg/sequence/inventory"
)

// Times counts pods by when they turned ready. Like the sums, it is kept up to date by adding and subtracting pods. The zero value has
// none.
//
// Pods that turned ready in one second are one entry. The entries are in order, in blocks of which none is long, and none empty unless
// it is the only one: to enter one moves the entries of its block, and not all.
type Times struct {
	blocks []timeBlock
	pods   int
}

type timeBlock struct {
	counts []timeCount
	pods   int
}

type timeCount struct {
	at   inventory.Timestamp
	pods int
}

// longestBlock is how many entries a block has at most.
const longestBlock = 256

// Len returns how many pods there are.
func (t *Times) Len() int { return t.pods }

// Add adds so many pods that turned ready at a time, or subtracts them if pods is negative.
func (t *Times) Add(at inventory.Timestamp, pods int) {
	if pods == 0 {
		return
	}
	t.pods += pods
	b := t.blockOf(at)
	block := &t.blocks[b]
	block.pods += pods
	i, found := slices.BinarySearchFunc(block.counts, at, func(c timeCount, at inventory.Timestamp) int { return cmp.Compare(c.at, at) })
	if !found {
		block.counts = slices.Insert(block.counts, i, timeCount{at: at})
	}
	if block.counts[i].pods += pods; block.counts[i].pods == 0 {
		block.counts = slices.Delete(block.counts, i, i+1)
	}
	switch {
	case len(block.counts) == 0 && len(t.blocks) > 1:
		t.blocks = slices.Delete(t.blocks, b, b+1)
	case len(block.counts) > longestBlock:
		t.split(b)
	}
}

// blockOf finds the block in which a time is, or has its place.
func (t *Times) blockOf(at inventory.Timestamp) int {
	switch len(t.blocks) {
	case 0:
		t.blocks = make([]timeBlock, 1)
		fallthrough
	case 1:
		return 0
	}
	b, _ := slices.BinarySearchFunc(t.blocks, at, func(b timeBlock, at inventory.Timestamp) int {
		return cmp.Compare(b.counts[len(b.counts)-1].at, at)
	})
	return min(b, len(t.blocks)-1)
}

// split halves a block. One to which entries come at the end, as time moves on, keeps all but the last.
func (t *Times) split(b int) {
	counts := t.blocks[b].counts
	half := len(counts) / 2
	if b == len(t.blocks)-1 {
		half = len(counts) - 1
	}
	second := timeBlock{counts: slices.Clone(counts[half:])}
	for _, c := range second.counts {
		second.pods += c.pods
	}
	t.blocks[b].counts = slices.Delete(counts, half, len(counts))
	t.blocks[b].pods -= second.pods
	t.blocks = slices.Insert(t.blocks, b+1, second)
}

// When returns when so many of the pods had turned ready, or all if there are not so many; zero for none.
func (t *Times) When(pods int) inventory.Timestamp {
	switch {
	case pods <= 0 || t.pods == 0:
		return 0
	case pods >= t.pods:
		counts := t.blocks[len(t.blocks)-1].counts
		return counts[len(counts)-1].at
	}
	b := 0
	for ; pods > t.blocks[b].pods; b++ {
		pods -= t.blocks[b].pods
	}
	i, counts := 0, t.blocks[b].counts
	for ; pods > counts[i].pods; i++ {
		pods -= counts[i].pods
	}
	return counts[i].at
}

// AddNext adds the earliest pods of others after so many that it skips, at most so many.
func (t *Times) AddNext(skip, pods int, others *Times) {
	for at, count := range others.All() {
		if pods <= 0 {
			return
		}
		skipped := min(skip, count)
		skip -= skipped
		t.Add(at, min(pods, count-skipped))
		pods -= count - skipped
	}
}

// All returns the times in order, with how many pods turned ready then.
func (t *Times) All() iter.Seq2[inventory.Timestamp, int] {
	return func(yield func(inventory.Timestamp, int) bool) {
		for _, b := range t.blocks {
			for _, c := range b.counts {
				if !yield(c.at, c.pods) {
					return
				}
			}
		}
	}
}

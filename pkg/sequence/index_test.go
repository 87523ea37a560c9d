package sequence

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnIndexKeepsNoKeyWithoutValues(t *testing.T) {
	index := lists[int, int]{}
	for _, i := range rand.Perm(50) {
		index.add(0, i)
	}
	for left, i := range rand.Perm(50) {
		index.remove(0, i)
		index.remove(0, i) // once more changes nothing
		assert.Len(t, index[0], 49-left)
		assert.NotContains(t, index[0], i)
	}
	assert.Empty(t, index)
}

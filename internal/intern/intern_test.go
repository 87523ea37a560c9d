package intern

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatIsRememberedIsBounded(t *testing.T) {
	table := &Table[int]{}
	const most = 10
	for n := range 10 * most {
		assert.Equal(t, n, table.Get(fmt.Sprint(n), most, func() int { return n }))
		assert.Equal(t, 0, table.Get("0", most, func() int { return -1 }), "what is met again and again stays")
		assert.LessOrEqual(t, table.Len(), 2*most)
	}
}

func TestWhatIsLongIsNotRemembered(t *testing.T) {
	table := &Table[int]{}
	for n := range 3 {
		assert.Equal(t, n, table.Get(strings.Repeat("a", MaxKey+1), 10, func() int { return n }))
	}
	assert.Zero(t, table.Len())
	table.Get(strings.Repeat("a", MaxKey), 10, func() int { return 0 })
	assert.Equal(t, 1, table.Len())
}

package intern

import (
	"fmt"
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

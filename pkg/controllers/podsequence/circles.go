package podsequence

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/sequence"
)

// circles remembers which sequences wait for each other. An event of one of them may open or close the circle of all, and the engine
// reports only the one.
type circles struct {
	mu     sync.Mutex
	others map[types.NamespacedName][]types.NamespacedName
	// again makes the status of a sequence be worked out again.
	again func(key types.NamespacedName)
}

func newCircles(again func(types.NamespacedName)) *circles {
	return &circles{others: map[types.NamespacedName][]types.NamespacedName{}, again: again}
}

// note remembers the circle of a sequence. If it is another one than before, the others of both look at theirs.
func (c *circles) note(key types.NamespacedName, circle sequence.Circle) {
	c.mu.Lock()
	before := c.others[key]
	if len(circle.Others) == 0 {
		delete(c.others, key)
	} else {
		c.others[key] = circle.Others
	}
	c.mu.Unlock()
	if slices.Equal(before, circle.Others) {
		return
	}
	for _, other := range before {
		c.again(other)
	}
	for _, other := range circle.Others {
		if !slices.Contains(before, other) {
			c.again(other)
		}
	}
}

// Package census counts objects for metrics: how many there are of each sort and where, and how old the oldest is. What is said of
// an object replaces what was said of it before.
package census

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Item counts things that have the same label values.
type Item struct {
	Labels []string
	Count  int
}

// One is an Item that counts one thing.
func One(labels ...string) Item { return Item{labels, 1} }

func (i Item) equal(other Item) bool {
	return i.Count == other.Count && slices.Equal(i.Labels, other.Labels)
}

// Census keeps a gauge at the sum of what was said last of each object.
type Census[K comparable] struct {
	gauge *prometheus.GaugeVec

	lock  sync.Mutex
	items map[K][]Item
}

// New returns a census that nothing was said to yet.
func New[K comparable](gauge *prometheus.GaugeVec) *Census[K] {
	return &Census[K]{gauge: gauge, items: map[K][]Item{}}
}

// Set says what to count for an object. Nothing is the same as Forget.
func (c *Census[K]) Set(key K, items ...Item) {
	c.lock.Lock()
	defer c.lock.Unlock()
	before := c.items[key]
	if slices.EqualFunc(before, items, Item.equal) {
		return
	}
	for _, item := range before {
		c.gauge.WithLabelValues(item.Labels...).Add(float64(-item.Count))
	}
	for _, item := range items {
		c.gauge.WithLabelValues(item.Labels...).Add(float64(item.Count))
	}
	if len(items) == 0 {
		delete(c.items, key)
		return
	}
	c.items[key] = items
}

// Forget counts nothing any more for an object.
func (c *Census[K]) Forget(key K) { c.Set(key) }

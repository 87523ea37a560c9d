// Package census counts objects for metrics: how many there are of each sort, and how old the oldest is. What is said of an
// object takes the place of what was said of it before.
package census

import (
	"slices"
	"sync"
	"time"

	"k8s.io/component-base/metrics"
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
	gauge *metrics.GaugeVec

	lock  sync.Mutex
	items map[K][]Item
}

// New returns a census that nothing was said to yet.
func New[K comparable](gauge *metrics.GaugeVec) *Census[K] {
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

// Oldest knows since when each object has been as it is.
type Oldest[K comparable] struct {
	lock  sync.Mutex
	since map[K]time.Time
}

// NewOldest returns one that knows no object.
func NewOldest[K comparable]() *Oldest[K] { return &Oldest[K]{since: map[K]time.Time{}} }

// Set says since when an object has been as it is. A zero time is the same as Forget.
func (o *Oldest[K]) Set(key K, since time.Time) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if since.IsZero() {
		delete(o.since, key)
		return
	}
	o.since[key] = since
}

// Forget leaves an object out from now on.
func (o *Oldest[K]) Forget(key K) { o.Set(key, time.Time{}) }

// Seconds returns how long the oldest has been as it is; 0 if there is none.
func (o *Oldest[K]) Seconds(now time.Time) float64 {
	o.lock.Lock()
	defer o.lock.Unlock()
	longest := 0.0
	for _, since := range o.since {
		longest = max(longest, now.Sub(since).Seconds())
	}
	return longest
}

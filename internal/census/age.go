package census

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/podsequence/internal/telemetry"
)

// NewAge makes a gauge of the seconds since a time that it asks for. It is 0 while that is zero.
func NewAge(part *telemetry.Part, name, help string, since func() time.Time) prometheus.GaugeFunc {
	return part.GaugeFunc(name, help, func() float64 {
		if since := since(); !since.IsZero() {
			return max(0, time.Since(since).Seconds())
		}
		return 0
	})
}

// Earlier returns the earlier of two times. Zero stands for none.
func Earlier(one, other time.Time) time.Time {
	if one.IsZero() || (!other.IsZero() && other.Before(one)) {
		return other
	}
	return one
}

// Oldest knows since when each object has been as it is.
type Oldest[K comparable] struct {
	lock  sync.Mutex
	since map[K]time.Time
}

// NewOldest returns one that knows no object.
func NewOldest[K comparable]() *Oldest[K] { return &Oldest[K]{since: map[K]time.Time{}} }

// Set says since when an object has been as it is; zero forgets it.
func (o *Oldest[K]) Set(key K, since time.Time) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if since.IsZero() {
		delete(o.since, key)
		return
	}
	o.since[key] = since
}

// Since returns since when the oldest object has been as it is; zero if there is none.
func (o *Oldest[K]) Since() (oldest time.Time) {
	o.lock.Lock()
	defer o.lock.Unlock()
	for _, since := range o.since {
		oldest = Earlier(oldest, since)
	}
	return oldest
}

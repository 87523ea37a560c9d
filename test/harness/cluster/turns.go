package cluster

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// Turns makes parallel tests do something one after the other.
type Turns struct{ lock sync.Mutex }

// Take returns when it is this test's turn, which lasts until the test ends.
func (turns *Turns) Take(t testing.TB) {
	turns.lock.Lock()
	t.Cleanup(turns.lock.Unlock)
}

// Exclusive are clusters each of which one test has for itself at a time: tests that kill programs, or change what there is one of in a
// cluster. A test leaves all programs running, and the cluster as it found it. After one that failed the next gets a new cluster.
type Exclusive struct {
	Options controlplane.Options
	// Begin, if set, is called with each new cluster.
	Begin func(*Cluster) error
	// Count is how many there are at most; 1 if it is 0.
	Count int

	once sync.Once
	free chan *Cluster // nil for one that has not started
}

// Take returns a cluster that this test has for itself until it ends.
func (e *Exclusive) Take(t testing.TB) *Cluster {
	t.Helper()
	e.once.Do(func() {
		e.free = make(chan *Cluster, max(e.Count, 1))
		for range cap(e.free) {
			e.free <- nil
		}
	})
	c := <-e.free
	t.Cleanup(func() {
		if t.Failed() && c != nil { // what is wrong with it may keep the machine busy
			assert.NoError(t, stopNow(c))
			c = nil
		}
		e.free <- c
	})
	if c == nil {
		started, err := Start(t.Context(), e.Options)
		require.NoError(t, err)
		stopAtEnd(started)
		if e.Begin != nil {
			require.NoError(t, e.Begin(started))
		}
		c = started
	}
	return c
}

// Of clusters that several tests have used, and that Main stops.
var (
	endLock sync.Mutex
	atEnd   []*Cluster
)

func stopAtEnd(c *Cluster) {
	endLock.Lock()
	defer endLock.Unlock()
	atEnd = append(atEnd, c)
}

// stopNow stops one of them before the end.
func stopNow(c *Cluster) error {
	endLock.Lock()
	atEnd = slices.DeleteFunc(atEnd, func(other *Cluster) bool { return other == c })
	endLock.Unlock()
	return c.StopAndClean(false)
}

func stopAll(clean bool) (errs []error) {
	endLock.Lock()
	defer endLock.Unlock()
	for _, c := range atEnd {
		errs = append(errs, c.StopAndClean(clean))
	}
	return errs
}

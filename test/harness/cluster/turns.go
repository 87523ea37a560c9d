package cluster

import (
	"sync"
	"testing"

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

// Exclusive is a cluster that parallel tests have for themselves, one after the other: those that kill programs, or change what
// there is one of in a cluster. A test leaves all programs running, and the cluster as it found it. After one that failed the
// next gets a new cluster.
type Exclusive struct {
	Options controlplane.Options
	// Begin, if set, is called with each new cluster.
	Begin func(*Cluster) error

	turns   Turns
	cluster *Cluster
}

// Take returns the cluster when it is this test's turn, which lasts until the test ends.
func (e *Exclusive) Take(t testing.TB) *Cluster {
	t.Helper()
	e.turns.Take(t)
	if e.cluster == nil {
		c, err := Start(t.Context(), e.Options)
		require.NoError(t, err)
		e.cluster = c
		stopAtEnd(c)
		if e.Begin != nil {
			require.NoError(t, e.Begin(c))
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			e.cluster = nil
		}
	})
	return e.cluster
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

func stopAll(clean bool) (errs []error) {
	endLock.Lock()
	defer endLock.Unlock()
	for _, c := range atEnd {
		errs = append(errs, c.StopAndClean(clean))
	}
	return errs
}

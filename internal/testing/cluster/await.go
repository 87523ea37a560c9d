package cluster

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// Patience is how long something that must happen may take on a loaded machine.
	Patience = 3 * time.Minute

	shortestPause = 20 * time.Millisecond
	longestPause  = 100 * time.Millisecond
)

var errNotYet = errors.New("it has not happened")

// Await waits until something has happened. It asks in the test's own goroutine, so that the question may end the test.
func Await(t testing.TB, what string, happened func() bool) {
	t.Helper()
	AwaitWithin(t, Patience, what, happened)
}

// AwaitWithin is Await with another patience.
func AwaitWithin(t testing.TB, patience time.Duration, what string, happened func() bool) {
	t.Helper()
	poll(t, patience, what, func() error {
		if !happened() {
			return errNotYet
		}
		return nil
	})
}

// Eventually waits until a check finds nothing wrong. Unlike Await it says what was wrong last.
func Eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	poll(t, 2*Patience, what, check)
}

func poll(t testing.TB, patience time.Duration, what string, check func() error) {
	t.Helper()
	began := time.Now()
	for err := check(); err != nil; err = check() {
		waited := time.Since(began)
		require.Less(t, waited, patience, "waited for %s: %v", what, err)
		// Whoever has waited for long can wait a little longer, and spares the API server questions.
		time.Sleep(min(max(waited/10, shortestPause), longestPause))
	}
}

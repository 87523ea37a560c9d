package cluster

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// Patience is how long something that must happen may take on a loaded machine.
	Patience = 6 * time.Minute

	// Of the pauses between two looks.
	shortestPause = 20 * time.Millisecond
	longestPause  = 250 * time.Millisecond
	// A pause is at least so many times as long as the look before it: a list of thousands of pods keeps everybody busy.
	perLook = 5
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
	for {
		looked := time.Now()
		err := check()
		if err == nil {
			return
		}
		waited := time.Since(began)
		require.Less(t, waited, patience, "waited for %s: %v", what, err)
		// A caller that has waited for long can wait a little longer, which saves requests to the API server.
		pause := min(max(waited/10, shortestPause), longestPause)
		time.Sleep(max(pause, perLook*time.Since(looked)))
	}
}

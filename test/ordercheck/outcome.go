package ordercheck

import "time"

// outcome is how a group stands at one resource version.
type outcome struct {
	satisfied bool
	skipped   bool      // it does not apply to the node
	since     time.Time // when satisfied: the earliest since when it can have been, as far as its pods tell; zero if they do not
	count     readyCount
}

// readyCount is how many pods of a group are ready, of how many.
type readyCount struct {
	ready, of int
}

package podwriter

import (
	"time"
)

const (
	// eventDelay is how long a pod is held before an event says so. Most pods are released sooner.
	eventDelay = 10 * time.Second
	// actionHolding is the action of these events.
	actionHolding = "Holding"
)

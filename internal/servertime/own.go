package servertime

import "k8s.io/utils/clock"

// ownClock is the clock of this machine. Tests build programs with another version of this file, in which it is wrong.
func ownClock() clock.WithTicker { return clock.RealClock{} }

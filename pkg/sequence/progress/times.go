package progress

import (
	"slices"
	"time"

	"example.com/podsequence/pkg/sequence/order"
)

// FullSecondAfter returns from when a wait counts that begins with a time of the API: these are cut to whole seconds.
func FullSecondAfter(t time.Time) time.Time { return t.Truncate(time.Second).Add(time.Second) }

// WaitOver returns when the wait of a group is over that is satisfied since a time.
func WaitOver(g *order.Group, since time.Time) time.Time {
	if g.Wait == 0 {
		return since
	}
	return FullSecondAfter(since).Add(g.Wait)
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

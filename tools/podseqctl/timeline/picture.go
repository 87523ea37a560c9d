package timeline

import (
	"time"
)

type legendRow struct{ class, colour, text string }

// legend is what happens to a pod, in order, and the colours of it in pictures.
var legend = []legendRow{
	{"held", "#c9ced6", "held"},
	{"other", "#b79be0", "held by another sequence"},
	{"pending", "#7aa7e8", "being scheduled"},
	{"starting", "#f0b24b", "starting"},
	{"ready", "#58b368", "ready"},
}

// stretch is a part of the bar of a pod.
type stretch struct {
	state    int // an index of legend
	from, to time.Time
}

// tick returns a round time of which at most ten make the whole.
func tick(whole time.Duration) time.Duration {
	for _, step := range []time.Duration{
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
		10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	} {
		if whole <= 10*step {
			return step
		}
	}
	return (whole / 10).Truncate(24*time.Hour) + 24*time.Hour
}

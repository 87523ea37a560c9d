package timeline

import (
	"fmt"
	"slices"
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

// legend returns the entries that the pods of the timeline need.
func (t *Timeline) legend() []legendRow {
	if t.hasOthers() {
		return legend
	}
	return slices.Concat(legend[:1], legend[2:])
}

// stretch is a part of the bar of a pod.
type stretch struct {
	state    int // an index of legend
	from, to time.Time
}

// stretches returns the parts of the bar of a pod. Parts without length are left out, but for the last state.
func (t *Timeline) stretches(p Pod) []stretch {
	steps := []*time.Time{&p.Created, p.Released, p.Free, p.Bound, p.Ready}
	var parts []stretch
	for i, from := range steps {
		if from == nil {
			continue
		}
		to := t.End
		for _, next := range steps[i+1:] {
			if next != nil {
				to = *next
				break
			}
		}
		if to.After(*from) || i == len(steps)-1 {
			parts = append(parts, stretch{i, *from, to})
		}
	}
	return parts
}

// criticalOf returns from when to when everybody waited for a pod, if they did.
func (t *Timeline) criticalOf(p Pod) (from, to time.Time, ok bool) {
	if !p.Critical || p.Released == nil {
		return time.Time{}, time.Time{}, false
	}
	if p.Ready != nil {
		return *p.Released, *p.Ready, true
	}
	return *p.Released, t.End, true
}

// share returns which part of the whole time has passed, from 0 to 1.
func (t *Timeline) share(at time.Time) float64 {
	whole := t.End.Sub(t.Begin)
	if whole <= 0 {
		return 0
	}
	return min(max(float64(at.Sub(t.Begin))/float64(whole), 0), 1)
}

// ticks returns the round times of the scale.
func (t *Timeline) ticks() []time.Duration {
	whole := t.End.Sub(t.Begin)
	step := tick(whole)
	var at []time.Duration
	for next := time.Duration(0); next <= whole; next += step {
		at = append(at, next)
	}
	return at
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

// summary says how long the sequence took.
func (t *Timeline) summary() string {
	state := "all pods ready after"
	if !t.Finished {
		state = "not all pods are ready after"
	}
	return fmt.Sprintf("%s %s, from %s", state, span(t.End.Sub(t.Begin)), t.Begin.UTC().Format(time.RFC3339))
}

// describe says in words what a bar shows.
func (t *Timeline) describe(p Pod) string {
	held := ""
	if p.HeldBy != "" {
		held = fmt.Sprintf(", released by %s %s", p.HeldBy, t.since(p.Free))
	}
	return fmt.Sprintf("%s on %s: created %s, released %s%s, bound %s, ready %s", p.Name, p.Node,
		t.since(&p.Created), t.since(p.Released), held, t.since(p.Bound), t.since(p.Ready))
}

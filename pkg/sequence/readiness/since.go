package readiness

import (
	"slices"
	"time"
)

// Times are when pods turned ready.
type Times []Time

// Time is when so many pods turned ready. A complete Job has any number of them, for which nobody stores anything.
type Time struct {
	At   time.Time
	Pods int
}

// Add notes when so many pods turned ready.
func (t *Times) Add(at time.Time, pods int) {
	if pods > 0 {
		*t = append(*t, Time{at, pods})
	}
}

// AddDemand notes when the pods of one workload turned ready: only as many as it needs, the earliest. It sorts its argument.
func (t *Times) AddDemand(need int, ready Times) {
	ready.sort()
	*t = append(*t, ready[:min(need, len(ready))]...)
}

// Pods returns how many there are.
func (t Times) Pods() int {
	sum := 0
	for _, each := range t {
		sum += each.Pods
	}
	return sum
}

// When returns when so many of the pods had turned ready; zero for none. It sorts the times.
func (t Times) When(pods int) time.Time {
	t.sort()
	for _, each := range t {
		if pods -= each.Pods; pods <= 0 {
			return each.At
		}
	}
	return time.Time{}
}

func (t Times) sort() {
	slices.SortFunc(t, func(a, b Time) int { return a.At.Compare(b.At) })
}

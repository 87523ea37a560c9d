package sequence

import (
	"container/heap"
	"iter"
	"time"
)

// alarms are the moments at which time alone changes something in a lane. An entry that is not the lane's any more is
// dropped when it comes up.
type alarms []alarm

type alarm struct {
	at   time.Time
	lane *lane
}

func (a alarms) Len() int           { return len(a) }
func (a alarms) Less(i, j int) bool { return a[i].at.Before(a[j].at) }
func (a alarms) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *alarms) Push(x any)        { *a = append(*a, x.(alarm)) }

func (a *alarms) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// set has the lane wake at its time.
func (a *alarms) set(l *lane) { heap.Push(a, alarm{l.wake, l}) }

// next is the earliest moment; zero if there is none.
func (a *alarms) next() time.Time {
	for len(*a) > 0 {
		first := (*a)[0]
		if first.lane.sequence.listed && first.at.Equal(first.lane.wake) {
			return first.at
		}
		heap.Pop(a)
	}
	return time.Time{}
}

// due takes out the lanes whose moment has come.
func (a *alarms) due(now time.Time) iter.Seq[*lane] {
	return func(yield func(*lane) bool) {
		for {
			at := a.next()
			if at.IsZero() || at.After(now) || !yield(heap.Pop(a).(alarm).lane) {
				return
			}
		}
	}
}

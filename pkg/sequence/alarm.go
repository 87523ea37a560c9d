package sequence

import (
	"container/heap"
	"iter"
	"time"
)

// alarms are the moments at which time alone changes something. There is at most one for each sleeper, and none for one whose
// sequence is gone, so that they never are more than what may wake.
type alarms []*alarm

// alarm is the moment at which its owner wakes. The zero value is none.
type alarm struct {
	at    time.Time
	place int // in alarms, counted from 1; 0 while it is not set
	wake  func(*transaction)
}

func (a alarms) Len() int           { return len(a) }
func (a alarms) Less(i, j int) bool { return a[i].at.Before(a[j].at) }

func (a alarms) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i+1, j+1
}

func (a *alarms) Push(x any) {
	*a = append(*a, x.(*alarm))
	x.(*alarm).place = len(*a)
}

func (a *alarms) Pop() any {
	last := (*a)[len(*a)-1]
	(*a)[len(*a)-1] = nil
	*a = (*a)[:len(*a)-1]
	last.place = 0
	return last
}

// set has the alarm ring at a time, and at no other; never if that is zero.
func (a *alarms) set(x *alarm, at time.Time) {
	switch {
	case at.IsZero() && x.place > 0:
		heap.Remove(a, x.place-1)
	case at.IsZero(), x.place > 0 && x.at.Equal(at):
	case x.place > 0:
		x.at = at
		heap.Fix(a, x.place-1)
	default:
		x.at = at
		heap.Push(a, x)
	}
}

// next is the earliest moment; zero if there is none.
func (a *alarms) next() time.Time {
	if len(*a) == 0 {
		return time.Time{}
	}
	return (*a)[0].at
}

// due takes out the alarms whose moment has come.
func (a *alarms) due(now time.Time) iter.Seq[*alarm] {
	return func(yield func(*alarm) bool) {
		for {
			at := a.next()
			if at.IsZero() || at.After(now) || !yield(heap.Pop(a).(*alarm)) {
				return
			}
		}
	}
}

package progress

import (
	"container/heap"
	"iter"
	"time"
)

// Alarms are the moments at which time alone changes something. There is at most one for each owner, and none for one whose
// sequence is gone, so that they never are more than what may wake. The zero value has none.
type Alarms[T any] struct{ heap alarmHeap[T] }

// Alarm is the moment at which its owner wakes. The zero value is none.
type Alarm[T any] struct {
	Owner T

	at    time.Time
	place int // in the heap, counted from 1; 0 while it is not set
}

// Set sets the alarm to ring at a time, and at no other; never if the time is zero.
func (a *Alarms[T]) Set(x *Alarm[T], at time.Time) {
	switch {
	case at.IsZero() && x.place > 0:
		heap.Remove(&a.heap, x.place-1)
	case at.IsZero(), x.place > 0 && x.at.Equal(at):
	case x.place > 0:
		x.at = at
		heap.Fix(&a.heap, x.place-1)
	default:
		x.at = at
		heap.Push(&a.heap, x)
	}
}

// Next returns the earliest moment; zero if there is none.
func (a *Alarms[T]) Next() time.Time {
	if len(a.heap) == 0 {
		return time.Time{}
	}
	return a.heap[0].at
}

// Due takes out the alarms whose moment has come, and returns their owners.
func (a *Alarms[T]) Due(now time.Time) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			at := a.Next()
			if at.IsZero() || at.After(now) || !yield(heap.Pop(&a.heap).(*Alarm[T]).Owner) {
				return
			}
		}
	}
}

// alarmHeap sorts the earliest alarm first.
type alarmHeap[T any] []*Alarm[T]

func (h alarmHeap[T]) Len() int           { return len(h) }
func (h alarmHeap[T]) Less(i, j int) bool { return h[i].at.Before(h[j].at) }

func (h alarmHeap[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

func (h *alarmHeap[T]) Push(x any) {
	*h = append(*h, x.(*Alarm[T]))
	x.(*Alarm[T]).place = len(*h)
}

func (h *alarmHeap[T]) Pop() any {
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = nil
	*h = (*h)[:len(*h)-1]
	last.place = 0
	return last
}

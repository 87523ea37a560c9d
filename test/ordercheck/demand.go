package ordercheck

import (
	"slices"
	"time"
)

// demand is what one workload contributes to a group.
type demand struct {
	*workloadFacts
	need    int   // how many pods the group expects of it
	ready   int   // how many of the pods that it wants have reached what the group requires
	times   turns // since when they have
	current func(*podFacts) bool
}

// wants reports whether a pod of the workload is one of those that the group expects of it: of the current revision, and not
// an ordinal that a StatefulSet which is scaled down still has.
func (s *demand) wants(p *podFacts) bool {
	if ordinal, ok := s.ordinalOf(p.Name); ok && !s.ordinals.inRange(ordinal) {
		return false
	}
	return s.current(p)
}

// turns are when pods reached something.
type turns []turn

// turn is when so many pods did. A complete Job has any number of them, which nobody stores.
type turn struct {
	at   time.Time
	pods int
}

func (t *turns) add(at time.Time, pods int) { *t = append(*t, turn{at, pods}) }

func (t turns) sort() { slices.SortFunc(t, func(a, b turn) int { return a.at.Compare(b.at) }) }

// first are those of as many pods as are asked for, the earliest.
func (t turns) first(pods int) turns {
	t.sort()
	var first turns
	for _, turn := range t {
		if pods <= 0 {
			break
		}
		turn.pods = min(turn.pods, pods)
		pods -= turn.pods
		first = append(first, turn)
	}
	return first
}

// needed are since when as many pods are ready as the group expects of the workload: a surplus says nothing of the others. Of a DaemonSet
// the earliest may be the surplus.
func (s *demand) needed(latest bool) turns {
	if !latest {
		return s.times.first(s.need)
	}
	s.times.sort()
	pods := 0
	for _, turn := range s.times {
		pods += turn.pods
	}
	return s.times[max(0, pods-s.need):].first(s.need)
}

// short reports whether the group still waits for the workload, by itself.
func (s *demand) short(group *groupFacts) bool {
	if s.job != nil && group.complete() {
		return !s.complete()
	}
	return s.ready < s.need
}

// kth is the k-th smallest time: when that many had come to be.
func kth(times turns, k int) time.Time {
	if k <= 0 {
		return time.Time{}
	}
	times.sort()
	for _, t := range times {
		if k -= t.pods; k <= 0 {
			return t.at
		}
	}
	return time.Time{}
}

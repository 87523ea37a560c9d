package main

import (
	"slices"
	"sync"
	"time"
)

// measure is one of the times that the well-behaved tenant waits for us.
type measure string

const (
	// binding is from the write that made the last pod of a group ready until a pod of the next group is bound.
	binding measure = "binding"
	// creation is from the creation of a pod of a first group, which may start at once, until it is bound.
	creation measure = "creation"
	// labelling is from the write that made the last pod of a pod group run until a pod of it has the ready label.
	labelling measure = "labelling"
	// turn is from the end of one rollout until the next Deployment of the DeploymentCoordination is unpaused.
	turn measure = "turn"
	// step is from the completion of one Job of a SequentialJob until the next exists.
	step measure = "step"
)

var measures = []measure{binding, creation, labelling, turn, step}

// enough is how many samples it takes to judge the 99th percentile. Of fewer the median is judged.
const enough = 200

// samples are the times that were measured in one phase.
type samples struct {
	lock sync.Mutex
	took map[measure][]time.Duration
	// unanswered counts what had not happened by the end of the phase. It is also in took, with the time waited so far.
	unanswered map[measure]int
}

func newSamples() *samples {
	return &samples{took: map[measure][]time.Duration{}, unanswered: map[measure]int{}}
}

func (s *samples) add(m measure, took time.Duration, answered bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	// The watch of what happened may have been faster than the answer to the write that let it happen.
	s.took[m] = append(s.took[m], max(0, took))
	if !answered {
		s.unanswered[m]++
	}
}

// percentile returns the smallest time that so many percent of the samples do not exceed, 0 if there is no sample.
func (s *samples) percentile(m measure, percent int) time.Duration {
	s.lock.Lock()
	defer s.lock.Unlock()
	sorted := slices.Sorted(slices.Values(s.took[m]))
	if len(sorted) == 0 {
		return 0
	}
	rank := (len(sorted)*percent + 99) / 100
	return sorted[max(rank, 1)-1]
}

func (s *samples) count(m measure) int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return len(s.took[m])
}

// sights are the times at which a watch first saw something, each under a name.
type sights struct {
	lock sync.Mutex
	seen map[string]*sight
}

type sight struct {
	at   time.Time
	done chan struct{}
}

func newSights() *sights { return &sights{seen: map[string]*sight{}} }

// of expects the caller to hold the lock.
func (s *sights) of(name string) *sight {
	if s.seen[name] == nil {
		s.seen[name] = &sight{done: make(chan struct{})}
	}
	return s.seen[name]
}

// mark records that this is seen now, unless it was seen before.
func (s *sights) mark(name string) {
	now := time.Now()
	s.lock.Lock()
	defer s.lock.Unlock()
	if it := s.of(name); it.at.IsZero() {
		it.at = now
		close(it.done)
	}
}

// await returns the time at which this was first seen, or the present and false if the phase ends before it is.
func (s *sights) await(end <-chan struct{}, name string) (at time.Time, seen bool) {
	s.lock.Lock()
	it := s.of(name)
	s.lock.Unlock()
	select {
	case <-it.done:
		return it.at, true
	case <-end:
		return time.Now(), false
	}
}

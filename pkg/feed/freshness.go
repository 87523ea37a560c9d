package feed

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

// askTimeout is how long one question to the API server may take before it is asked again.
const askTimeout = 10 * time.Second

// freshness knows up to which resource version the engine surely knows every PodSequence.
//
// Pods and PodSequences come through two watches, and either may be behind the other: a pod that was created a moment
// after its sequence may reach the scheduler before the sequence reaches the engine, and would be bound before its turn.
// Resource versions put the two in order. Whatever the watch of sequences brings says by its version how far the watch
// has come; while it is quiet, a consistent list of the sequences' metadata says how far it should have come by now. One
// list serves all pods that wait for it.
type freshness struct {
	// newest asks the API server how recent its answer is, and what the newest change of any PodSequence is.
	newest func(context.Context) (now, lastChange string, err error)
	// advanced is called after more has become known.
	advanced func()
	// kick has a token while wanted may be ahead of known.
	kick chan struct{}

	mu      sync.Mutex
	watched string        // the last version that the watch brought
	known   string        // no change up to this version is missing
	wanted  string        // the newest version that somebody asked for
	absent  bool          // there is no such kind: nothing can be missing
	moved   chan struct{} // closed when any of the others changes
}

func newFreshness(newest func(context.Context) (string, string, error), advanced func()) *freshness {
	return &freshness{newest: newest, advanced: advanced, kick: make(chan struct{}, 1), moved: make(chan struct{})}
}

// brought notes that the watch has brought everything up to this version into the engine.
func (f *freshness) brought(version string) {
	f.update(func() {
		f.watched = latest(f.watched, version)
		f.known = latest(f.known, version)
	})
}

// setAbsent notes whether the kind is not served.
func (f *freshness) setAbsent(absent bool) { f.update(func() { f.absent = absent }) }

func (f *freshness) update(change func()) {
	f.mu.Lock()
	change()
	close(f.moved)
	f.moved = make(chan struct{})
	f.mu.Unlock()
	f.advanced()
}

// reached tells whether the engine knows every change up to this version.
func (f *freshness) reached(version string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.absent || !after(version, f.known)
}

// want has the API server asked, if need be. It does not wait: what comes of it is told by advanced.
func (f *freshness) want(version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wanted = latest(f.wanted, version)
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// await returns once the engine knows every change up to this version.
func (f *freshness) await(ctx context.Context, version string) error {
	for !f.reached(version) {
		f.want(version)
		f.mu.Lock()
		there, moved := f.absent || !after(version, f.known), f.moved
		f.mu.Unlock()
		if there {
			break
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("wait to know all PodSequences up to version %s: %w", version, context.Cause(ctx))
		}
	}
	return nil
}

// run asks the API server while somebody wants to know more, until the context ends.
func (f *freshness) run(ctx context.Context) {
	for {
		select {
		case <-f.kick:
		case <-ctx.Done():
			return
		}
		retry := wait.Backoff{Duration: 100 * time.Millisecond, Cap: 2 * time.Second, Steps: 10, Factor: 2, Jitter: 0.2}
		for f.behind() && ctx.Err() == nil {
			now, err := f.ask(ctx)
			if err == nil {
				f.update(func() { f.known = latest(f.known, now) })
				continue
			}
			klog.FromContext(ctx).Error(err, "Cannot tell whether all PodSequences are known; new pods are held, will try again")
			watchErrors.WithLabelValues("podsequences").Inc()
			select {
			case <-time.After(retry.Step()):
			case <-ctx.Done():
			}
		}
	}
}

func (f *freshness) behind() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.absent && after(f.wanted, f.known)
}

// ask returns up to which version nothing is missing, after the watch has brought all there is up to it.
func (f *freshness) ask(ctx context.Context) (now string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	now, lastChange, err := f.newest(ctx)
	if err != nil {
		return "", fmt.Errorf("ask for the newest PodSequence: %w", err)
	}
	for {
		f.mu.Lock()
		there, moved := !after(lastChange, f.watched), f.moved
		f.mu.Unlock()
		if there {
			return now, nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return "", fmt.Errorf("wait for the watch of PodSequences to reach version %s: %w", lastChange, context.Cause(ctx))
		}
	}
}

func latest(a, b string) string {
	if after(b, a) {
		return b
	}
	return a
}

// after tells whether version a is later than b. The empty version is earlier than any.
func after(a, b string) bool {
	switch {
	case a == "" || a == b:
		return false
	case b == "":
		return true
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}

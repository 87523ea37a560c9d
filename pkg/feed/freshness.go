package feed

import (
	"context"
	"fmt"
	"sync"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

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

	watch position // of PodSequences

	mu     sync.Mutex
	known  string        // no change up to this version is missing
	wanted string        // the newest version that somebody asked for
	absent bool          // there is no such kind: nothing can be missing
	moved  chan struct{} // closed when any of the others changes
}

func newFreshness(newest func(context.Context) (string, string, error), advanced func()) *freshness {
	return &freshness{
		newest: newest, advanced: advanced, kick: make(chan struct{}, 1), moved: make(chan struct{}),
		watch: position{resource: v1alpha1.PodSequenceResource.Resource},
	}
}

// brought notes that the watch has brought everything up to this version into the engine.
func (f *freshness) brought(version string) {
	f.watch.brought(version)
	f.update(func() { f.known = latest(f.known, version) })
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
		for f.behind() && ctx.Err() == nil {
			persist(ctx, "podsequences", "Cannot tell whether all PodSequences are known; new pods are held", f.behind, f.ask)
		}
	}
}

func (f *freshness) behind() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.absent && after(f.wanted, f.known)
}

// ask finds out up to which version nothing is missing, after the watch has brought all there is up to it.
func (f *freshness) ask(ctx context.Context) error {
	now, lastChange, err := f.newest(ctx)
	if err != nil {
		return fmt.Errorf("ask for the newest PodSequence: %w", err)
	}
	if err := f.watch.await(ctx, lastChange); err != nil {
		return err
	}
	f.update(func() { f.known = latest(f.known, now) })
	return nil
}

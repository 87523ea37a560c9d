package feed

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"example.com/podsequence/pkg/sequence"
)

// gathersAtOnce is how many requests about namespaces that have become of interest are under way at the same time.
const gathersAtOnce = 8

// scopedKind is a kind that the engine gets only in namespaces of interest. A scope is one.
type scopedKind interface {
	gather(ctx context.Context, spaces []*space) error
}

// replaceSequences enters all sequences of a kind that there are at a version, but for those that must wait.
func (f *Feed) replaceSequences(kind *sequenceKind, all []sequence.Stored, version string) sequence.Changes {
	now := f.clock.Now()
	present := make(map[types.NamespacedName]struct{}, len(all))
	var known []sequence.Stored
	for _, ps := range all {
		present[types.NamespacedName{Namespace: ps.Namespace, Name: ps.Name}] = struct{}{}
		if !f.interest.holdBack(ps, now) {
			known = append(known, ps)
		}
	}
	f.interest.keepOnly(present, kind.cluster, now)
	kind.listed = true
	if kind.cluster {
		return f.engine.ReplaceClusterSequences(known, version)
	}
	return f.engine.ReplaceSequences(known, version)
}

// deferredConfirm is an answer that the engine is not given before some namespaces are complete: what their Namespaces say is
// kept back until then.
type deferredConfirm struct {
	about  sequence.Subject
	moment uint64
	spaces []*space
}

// deferConfirm keeps an answer about Namespaces back if any Namespace is. It reports whether it does.
func (f *Feed) deferConfirm(about sequence.Subject, moment uint64) bool {
	spaces := f.interest.holding()
	if len(spaces) > 0 {
		f.deferred = append(f.deferred, deferredConfirm{about, moment, spaces})
	}
	return len(spaces) > 0
}

// confirmDeferred gives the engine the answers that were kept back for namespaces that are complete, or of interest no more.
func (f *Feed) confirmDeferred() {
	waiting := f.deferred
	f.deferred = nil
	for _, answer := range waiting {
		answer.spaces = slices.DeleteFunc(answer.spaces, func(sp *space) bool { return sp.complete || f.interest.spaces[sp.name] != sp })
		if len(answer.spaces) > 0 {
			f.deferred = append(f.deferred, answer)
			continue
		}
		f.pass(f.engine.Confirm(answer.about, answer.moment))
	}
}

// forgetAbandoned makes the engine forget namespaces that were abandoned: those that nothing speaks of any more before they
// became complete. It also passes on what was held back until they were complete, such as PodSequences that are not allowed any
// more.
func (f *Feed) forgetAbandoned() {
	abandoned := f.interest.abandoned
	f.interest.abandoned = nil
	for _, sp := range abandoned {
		if again := f.interest.spaces[sp.name]; again != nil { // in the same step, so it is incomplete
			f.interest.inherit(again, sp)
			continue
		}
		f.pass(f.engine.ForgetNamespace(sp.name))
		if sp.namespace != nil {
			f.pass(f.engine.ApplyNamespace(sp.namespace))
		}
		if len(sp.held) > 0 {
			f.pass(f.engine.ApplySequences(slices.Collect(maps.Values(sp.held)), f.versions.known()))
		}
	}
	if clusters := f.interest.takeClusters(); len(clusters) > 0 { // what one of them waited for is of interest no more
		f.pass(f.engine.ApplySequences(clusters, f.versions.known()))
	}
	f.interest.settle()
}

// keepInterest gathers what there is in namespaces that become of interest, and makes the engine forget those that are of
// interest no more, until the context ends.
func (f *Feed) keepInterest(ctx context.Context) {
	var running wait.Group
	defer running.Wait()
	for {
		f.deliver.Lock()
		queue, advanced := f.interest.queue, f.interest.advanced
		f.interest.queue, f.interest.advanced = nil, false
		old, next := f.interest.expired(f.clock.Now())
		for _, sp := range old {
			f.step(func() sequence.Changes { return f.engine.ForgetNamespace(sp.name) })
		}
		f.deliver.Unlock()
		if advanced {
			for _, kind := range f.sequences {
				kind.known.brought()
			}
		}
		if len(queue) < manySpaces {
			for i := range queue {
				running.StartWithContext(ctx, func(ctx context.Context) { f.gather(ctx, queue[i:i+1]) })
			}
		} else {
			running.StartWithContext(ctx, func(ctx context.Context) { f.gather(ctx, queue) })
		}
		var due <-chan time.Time
		stop := func() bool { return true }
		if !next.IsZero() {
			timer := f.clock.NewTimer(next.Sub(f.clock.Now()))
			due, stop = timer.C(), timer.Stop
		}
		select {
		case <-due:
		case <-f.interest.kick:
		case <-ctx.Done():
		}
		stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// gather enters all that there is in some namespaces, and then the PodSequences that waited for that.
func (f *Feed) gather(ctx context.Context, spaces []*space) {
	retry := wait.Backoff{Duration: 200 * time.Millisecond, Cap: 5 * time.Second, Steps: 10, Factor: 2, Jitter: 0.2}
	for {
		err := f.gatherKinds(ctx, spaces)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			break
		}
		f.reportGather(ctx, spaces, err)
		if !pause(ctx, retry.Step()) {
			return
		}
	}
	f.deliver.Lock()
	f.step(func() sequence.Changes { return f.completeSpaces(spaces) })
	f.deliver.Unlock()
	f.open()
	for _, kind := range f.sequences {
		kind.known.brought()
	}
}

func (f *Feed) gatherKinds(ctx context.Context, spaces []*space) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, kind := range f.scoped {
		group.Go(func() error { return kind.gather(ctx, spaces) })
	}
	return group.Wait()
}

// reportGather says why it takes long until some namespaces are complete.
func (f *Feed) reportGather(ctx context.Context, spaces []*space, err error) {
	watchErrors.WithLabelValues("pods_and_workloads").Inc()
	klog.FromContext(ctx).Error(err, "Could not list pods and workloads of namespaces with PodSequences; pods there stay held, will retry",
		"namespaces", len(spaces), "namespace", spaces[0].name)
	why := fmt.Sprintf("pods and workloads of the namespace cannot be listed: %v", err)
	f.deliver.Lock()
	defer f.deliver.Unlock()
	for _, sp := range spaces {
		if f.interest.spaces[sp.name] == sp {
			f.interest.kept.setWhy(sp.name, why)
		}
	}
	if !f.synced {
		f.setState(fmt.Sprintf("pods and workloads of namespace %s cannot be listed: %v", spaces[0].name, err))
	}
}

// completeSpaces enters what waited for these namespaces. Their pods wait until the engine knows all of it.
func (f *Feed) completeSpaces(spaces []*space) sequence.Changes {
	var held []sequence.Stored
	for _, sp := range spaces {
		if f.interest.spaces[sp.name] != sp {
			continue
		}
		of, namespace := f.interest.complete(sp)
		held = append(held, of...)
		if namespace != nil {
			f.pass(f.engine.ApplyNamespace(namespace))
		}
	}
	changes := f.engine.ApplySequences(append(held, f.interest.takeClusters()...), f.versions.known())
	f.interest.forget(spaces)
	f.interest.settle()
	return changes
}

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
	gather(ctx context.Context, spaces []*watchedNamespace) error
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

// forgetAbandoned makes the engine forget namespaces that were abandoned: those that nothing speaks of any more before they
// became complete. It also passes on what was held back until they were complete, such as PodSequences that are not allowed any
// more.
func (f *Feed) forgetAbandoned() {
	abandoned := f.interest.abandoned
	f.interest.abandoned = nil
	var forgotten []string
	for _, ns := range abandoned {
		if again := f.interest.namespaces[ns.name]; again != nil { // in the same step, so it is incomplete
			f.interest.moveHeldBack(again, ns)
			continue
		}
		forgotten = append(forgotten, ns.name)
		if ns.namespace != nil {
			f.publish(f.engine.ApplyNamespace(ns.namespace))
		}
		if len(ns.held) > 0 {
			f.publish(f.engine.ApplySequences(slices.Collect(maps.Values(ns.held))))
		}
	}
	if clusters := f.interest.takeClusters(); len(clusters) > 0 { // what one of them waited for is of interest no more
		f.publish(f.engine.ApplySequences(clusters))
	}
	// The engine keeps what a sequence counts: only what it was just told may say that no sequence counts there any more.
	for _, name := range forgotten {
		f.publish(f.engine.ForgetNamespace(name))
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
		for _, ns := range old {
			f.step(func() sequence.Changes { return f.engine.ForgetNamespace(ns.name) })
		}
		f.deliver.Unlock()
		if advanced {
			f.advanced()
		}
		if len(queue) < manyNamespaces {
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
		case <-f.interest.wakeup:
		case <-ctx.Done():
		}
		stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// gather enters all that there is in some namespaces, and then the PodSequences that waited for that.
func (f *Feed) gather(ctx context.Context, namespaces []*watchedNamespace) {
	retry := wait.Backoff{Duration: 200 * time.Millisecond, Cap: 5 * time.Second, Steps: 10, Factor: 2, Jitter: 0.2}
	for {
		err := f.gatherKinds(ctx, namespaces)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			break
		}
		f.reportGather(ctx, namespaces, err)
		if !pause(ctx, retry.Step()) {
			return
		}
	}
	f.deliver.Lock()
	f.step(func() sequence.Changes { return f.completeNamespaces(namespaces) })
	f.deliver.Unlock()
	f.open()
}

func (f *Feed) gatherKinds(ctx context.Context, namespaces []*watchedNamespace) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, kind := range f.scoped {
		group.Go(func() error { return kind.gather(ctx, namespaces) })
	}
	return group.Wait()
}

// reportGather says why it takes long until some namespaces are complete.
func (f *Feed) reportGather(ctx context.Context, namespaces []*watchedNamespace, err error) {
	watchErrors.WithLabelValues("pods_and_workloads").Inc()
	klog.FromContext(ctx).Error(err, "Could not list pods and workloads of namespaces with PodSequences; pods there stay held, will retry",
		"namespaces", len(namespaces), "namespace", namespaces[0].name)
	why := fmt.Sprintf("pods and workloads of the namespace cannot be listed: %v", err)
	f.deliver.Lock()
	defer f.deliver.Unlock()
	for _, ns := range namespaces {
		if f.interest.namespaces[ns.name] == ns {
			f.interest.kept.setWhy(ns.name, why)
		}
	}
	if !f.synced {
		f.setState(fmt.Sprintf("pods and workloads of namespace %s cannot be listed: %v", namespaces[0].name, err))
	}
}

// completeNamespaces enters what waited for these namespaces. Their pods wait until the engine knows all of it.
func (f *Feed) completeNamespaces(namespaces []*watchedNamespace) sequence.Changes {
	var held []sequence.Stored
	for _, ns := range namespaces {
		if f.interest.namespaces[ns.name] != ns {
			continue
		}
		of, namespace := f.interest.markComplete(ns)
		held = append(held, of...)
		if namespace != nil {
			f.publish(f.engine.ApplyNamespace(namespace))
		}
	}
	changes := f.engine.ApplySequences(append(held, f.interest.takeClusters()...))
	f.interest.releaseWaitingPods(namespaces)
	f.interest.settle()
	return changes
}

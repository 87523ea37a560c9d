// Package feed tells an engine what the API server says: pods, the workloads that make them, nodes, PodSequences, and
// whether there is such a kind at all. It also tells it the time.
//
// It uses reflectors straight into the engine, not shared informers, for three reasons. A relist reaches the engine as
// one step; through an informer it comes pod by pod, and the engine would see pods together in states they never had
// together. Terminal pods come through the same ordered watch as all others, whereas the scheduler's informer leaves
// them out, so that a completed pod looks deleted. And no second copy of every pod is kept.
package feed

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/podgroups"
	"example.com/podsequence/pkg/podgroupwatch"
	"example.com/podsequence/pkg/sequence"
)

// Feed feeds one engine.
type Feed struct {
	engine *sequence.Engine
	sink   func(sequence.Changes)

	// world are the kinds that the engine must know before it hears of sequences.
	world       []watchedKind
	groups      *podgroupwatch.Watcher // nil in tests that have none
	definitions cache.ListerWatcher
	sequences   cache.ListerWatcher

	fresh   *freshness
	confirm *confirmer

	// state is why the engine does not know enough yet; nil once it does.
	state atomic.Pointer[string]

	// deliver orders what reaches the sink: nothing before everything.
	deliver sync.Mutex
	synced  bool

	clock clock.WithTicker
	wake  time.Time     // when time will next change something; guarded by deliver
	rearm chan struct{} // has a token when wake has changed
}

// Options say whom the feed tells.
type Options struct {
	// Sink gets what each event changed, in order, after the engine knows of it, and first of all, when the engine has
	// come to know everything, all there is (Engine.Everything). It is called from several goroutines, one at a time.
	Sink func(sequence.Changes)
	// Advanced, if set, is called when CaughtUp may give another answer than before. Calls may overlap.
	Advanced func()
	// ClusterScopeOnly has no nodes watched: the engine must be configured alike.
	ClusterScopeOnly bool
	// Clock is the real one if nil.
	Clock clock.WithTicker
}

// New returns a feed that does nothing until Run.
func New(config *rest.Config, engine *sequence.Engine, options Options) (*Feed, error) {
	if options.Advanced == nil {
		options.Advanced = func() {}
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	config = rest.CopyConfig(config)
	rest.AddUserAgent(config, "feed")

	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client for pods: %w", err)
	}
	extensions, err := apiextensionsclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client for custom resource definitions: %w", err)
	}
	sequences, err := listWatchSequences(config)
	if err != nil {
		return nil, err
	}
	metadata, err := askingClient(config)
	if err != nil {
		return nil, err
	}

	f := &Feed{
		engine: engine, sink: options.Sink,
		fresh: newFreshness(func(ctx context.Context) (now, lastChange string, err error) {
			return newest(ctx, metadata.Resource(v1alpha1.PodSequenceResource))
		}, options.Advanced),
		definitions: cache.NewListWatchFromClient(extensions.ApiextensionsV1().RESTClient(), "customresourcedefinitions", "",
			fields.OneTermEqualSelector("metadata.name", definitionName)),
		sequences: sequences,
		clock:     options.Clock, rearm: make(chan struct{}, 1),
	}
	f.world = f.podsAndWorkloads(core)
	f.confirm = newConfirmer(askedKinds(metadata, f.world), f.applyKnown)
	if !options.ClusterScopeOnly {
		f.world = append(f.world, f.nodes(core))
	}
	if f.groups, err = podgroupwatch.New(config); err != nil {
		return nil, fmt.Errorf("make watcher of PodGroups: %w", err)
	}
	f.setState("has not begun to watch")
	return f, nil
}

// Synced tells whether the engine knows all it must know to let any pod go.
func (f *Feed) Synced() bool { return f.state.Load() == nil }

// Why tells what the engine does not know yet, in words; empty once it knows enough.
func (f *Feed) Why() string {
	if why := f.state.Load(); why != nil {
		return *why
	}
	return ""
}

// CaughtUp tells whether the engine surely knows every PodSequence that there was at this resource version. If not, it
// has that found out, and Options.Advanced is called when more is known.
func (f *Feed) CaughtUp(version string) bool {
	if f.fresh.reached(version) {
		return true
	}
	f.fresh.want(version)
	return false
}

// CatchUp returns once the engine knows every PodSequence that there was at this resource version.
func (f *Feed) CatchUp(ctx context.Context, version string) error { return f.fresh.await(ctx, version) }

func (f *Feed) setState(why string) { f.state.Store(&why) }

// Run feeds the engine until the context ends.
//
// Pods, workloads and nodes come first, all of them, and only then sequences: passes are for good, and a group of which
// only some pods are known may look ready.
func (f *Feed) Run(ctx context.Context) {
	var watches wait.Group
	defer watches.Wait()

	watches.StartWithContext(ctx, f.keepTime)
	f.setState("the lists of pods, workloads and nodes are not complete")
	for _, kind := range f.world {
		watches.StartWithContext(ctx, func(ctx context.Context) {
			f.reflect(ctx, kind.resource.Resource, kind.source, kind.object, kind.store)
		})
	}
	if f.groups != nil {
		watches.StartWithContext(ctx, func(ctx context.Context) { f.groups.Run(ctx, f.applyGroup) })
		f.groups.AwaitListed(ctx)
	}
	for _, kind := range f.world {
		select {
		case <-kind.store.listed():
		case <-ctx.Done():
			return
		}
	}

	watches.StartWithContext(ctx, f.fresh.run)
	watches.StartWithContext(ctx, f.confirm.run)
	f.setState("it is not known whether the PodSequence kind is installed")
	definitions := &definitionStore{feed: f, ctx: ctx}
	watches.StartWithContext(ctx, func(ctx context.Context) {
		f.reflect(ctx, "customresourcedefinitions", f.definitions, definitionType, definitions)
	})
	watches.Wait()
	definitions.stop()
}

// reflect keeps the store up to date until the context ends, however often the watch breaks.
func (f *Feed) reflect(ctx context.Context, name string, source cache.ListerWatcher, object any, store cache.ReflectorStore) {
	logger := klog.FromContext(ctx).WithValues("resource", name)
	reflector := cache.NewReflectorWithOptions(source, object, store, cache.ReflectorOptions{Name: "podsequence/" + name})
	backoff := wait.Backoff{Duration: 200 * time.Millisecond, Cap: 5 * time.Second, Steps: 10, Factor: 2, Jitter: 0.2}
	_ = backoff.DelayWithReset(clock.RealClock{}, 2*time.Minute).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil && ctx.Err() == nil {
			watchErrors.WithLabelValues(name).Inc()
			logger.Error(err, "Could not list and watch; held pods stay held, will try again")
			f.deliver.Lock()
			if !f.synced {
				f.setState(fmt.Sprintf("%s cannot be listed: %v", name, err))
			}
			f.deliver.Unlock()
		}
		return false, nil
	})
}

// complete opens the sink: the engine knows everything.
func (f *Feed) complete() {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	f.synced = true
	f.state.Store(nil)
	engineSynced.Set(1)
	f.pass(f.engine.Everything())
}

// suspend closes the sink until the engine knows everything again.
func (f *Feed) suspend(why string) {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	f.synced = false
	f.setState(why)
	engineSynced.Set(0)
}

// apply enters something into the engine and passes on what that changed. The two are one step, so that the sink sees
// changes in the order in which they came about.
func (f *Feed) apply(enter func() sequence.Changes) {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	f.pass(f.engine.Tick(f.clock.Now()))
	f.pass(enter())
	if wake := f.engine.NextWake(); !wake.Equal(f.wake) {
		f.wake = wake
		select {
		case f.rearm <- struct{}{}:
		default:
		}
	}
}

// applyGroup tells the engine how many pods a PodGroup asks for.
func (f *Feed) applyGroup(group podgroups.Reference) {
	f.apply(func() sequence.Changes {
		minimum, _ := f.groups.Minimum(group)
		return f.engine.ApplyPodGroup(group, int(minimum))
	})
}

// applyKnown tells the engine up to which of its moments it misses nothing of a subject.
func (f *Feed) applyKnown(subject sequence.Subject, moment uint64) {
	f.apply(func() sequence.Changes { return f.engine.Confirm(subject, moment) })
}

// pass has the engine's questions answered, and tells the sink.
func (f *Feed) pass(changes sequence.Changes) {
	f.confirm.want(changes.Questions)
	if f.synced && !changes.Empty() {
		podsReleased.Add(float64(len(changes.Released)))
		f.sink(changes)
	}
}

// keepTime tells the engine the time at each moment at which time alone changes something, until the context ends.
func (f *Feed) keepTime(ctx context.Context) {
	for {
		f.deliver.Lock()
		wake := f.wake
		f.deliver.Unlock()
		var due <-chan time.Time
		stop := func() bool { return true }
		if !wake.IsZero() {
			timer := f.clock.NewTimer(wake.Sub(f.clock.Now()))
			due, stop = timer.C(), timer.Stop
		}
		select {
		case <-due:
			f.apply(func() sequence.Changes { return sequence.Changes{} })
		case <-f.rearm:
		case <-ctx.Done():
		}
		stop()
		if ctx.Err() != nil {
			return
		}
	}
}

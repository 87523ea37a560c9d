// Package feed feeds an engine with what the API server says of pods, the workloads that own them, nodes, namespaces, PodSequences
// and ClusterPodSequences, with whether there are such kinds at all, and with the time.
//
// It uses reflectors straight into the engine, not shared informers. Since client-go 0.36 an informer replaces its store in one step
// (AtomicFIFO, a beta feature that the environment can switch off). But the engine would hear of it through event handlers, and
// these still lack:
//
//   - The whole list. A handler gets a relist object by object, those that are gone first, and is not told where it ends. The engine
//     would see pods together in states they never had together.
//   - The version of a removal that a relist finds. A handler gets the last known object, with the version that it had.
//   - The longest pause after a failure. It is 30 seconds; pods wait meanwhile, so here it is 5.
//
// Below the handlers, Process of a cache.Controller gets lists and bookmarks (ReplacedAll and Bookmark). To use it is to write
// the same methods as those of a reflector's store, behind one more queue.
//
// Also, terminal pods come through the same ordered watch as all others, whereas the scheduler's informer leaves them out, so that a
// completed pod looks deleted. And no second copy of every pod is kept.
//
// Pods and workloads of all namespaces enter the engine, also where no sequence speaks of them yet: one that comes later counts what there
// is from the moment in which it is known.
//
// # What the watches may lack
//
// Each kind has a watch of its own, and one may be behind another. The feed does not wait for any: pkg/record looks at what a group counts
// before it records that the group was passed. Only who lifts a gate waits until the engine knows all sequences that there are, see CatchUp.
package feed

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/definitions"
	"example.com/podsequence/internal/reflectors"
	"example.com/podsequence/pkg/sequence"
)

// Feed feeds one engine.
type Feed struct {
	engine *sequence.Engine
	sink   func(sequence.Changes)
	opened func() // nil if nobody wants to know

	// world are the kinds that the engine must know before it hears of sequences.
	world      []watchedKind
	namespaces *position
	sequences  [2]*sequenceKind // PodSequences and ClusterPodSequences

	// newestOf lists metadata, see newestOf.
	newestOf func(ctx context.Context, resource schema.GroupVersionResource, options metav1.ListOptions) (newest string, err error)
	lists    singleflight.Group // by what is listed

	// state is why the engine does not know enough yet; nil once it does. lacks is the same while no list fails.
	state, lacks atomic.Pointer[string]

	// deliver orders what reaches the sink: nothing before everything.
	deliver sync.Mutex
	synced  bool

	clock clock.WithTicker
	timer clock.Timer // for when time will next change something
}

// Options say who gets what the feed finds out.
type Options struct {
	// Sink gets what each event changed, in order, after the engine knows of it, and first of all, when the engine has
	// come to know everything, all there is (Engine.Everything). It is called from several goroutines, one at a time.
	Sink func(sequence.Changes)
	// Opened, if set, is called each time when the engine has come to know everything. It must not block.
	Opened func()
	// ClusterScopeOnly makes the feed watch no nodes: the engine must be configured alike.
	ClusterScopeOnly bool
	// Clock is what waits and timeouts count by, such as a servertime.Clock. It is the real one if nil.
	Clock clock.WithTicker
}

// New returns a feed that does nothing until Run.
func New(config *rest.Config, engine *sequence.Engine, options Options) (*Feed, error) {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	config = rest.CopyConfig(config)
	rest.AddUserAgent(config, "feed")
	// How much is listed at once is bounded by whoever asks: to be slowed down further would only keep pods waiting.
	config.QPS, config.RateLimiter = -1, nil

	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client for metadata: %w", err)
	}

	f := &Feed{
		engine: engine, sink: options.Sink, newestOf: newestOf(client),
		clock: options.Clock, timer: options.Clock.NewTimer(math.MaxInt64), opened: options.Opened,
	}
	if err := f.watchBuiltInKinds(config, !options.ClusterScopeOnly); err != nil {
		return nil, err
	}
	for i, resource := range []schema.GroupVersionResource{v1alpha1.PodSequenceResource, v1alpha1.ClusterPodSequenceResource} {
		kind := &sequenceKind{cluster: i == 1, resource: resource, watch: &position{resource: resource.Resource}}
		if kind.definition, err = definitions.New(config, resource.GroupResource()); err != nil {
			return nil, err
		}
		if kind.source, err = listWatchSequences(config, resource); err != nil {
			return nil, err
		}
		f.sequences[i] = kind
	}
	f.setState("has not begun to watch")
	return f, nil
}

// Synced reports whether the engine knows all it must know to release any pod.
func (f *Feed) Synced() bool { return f.state.Load() == nil }

// Why says what the engine does not know yet, in words; empty once it knows enough.
func (f *Feed) Why() string {
	if why := f.state.Load(); why != nil {
		return *why
	}
	return ""
}

func (f *Feed) setState(why string) {
	f.lacks.Store(&why)
	f.state.Store(&why)
}

// setFailure says why the engine does not know enough, unless it does; nil if no list fails any more.
func (f *Feed) setFailure(why *string) {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	if !f.synced {
		f.state.Store(cmp.Or(why, f.lacks.Load()))
	}
}

// Run feeds the engine until the context ends.
//
// Pods, workloads, nodes and namespaces come first, all of them, and only then sequences: passes are permanent, and a group of
// which only some pods are known may look ready.
func (f *Feed) Run(ctx context.Context) {
	var watches wait.Group
	defer watches.Wait()

	fed.Store(f.engine)
	watches.StartWithContext(ctx, f.keepTime)
	f.setState("the lists of pods, workloads, nodes and namespaces are not complete")
	for _, kind := range f.world {
		watches.StartWithContext(ctx, func(ctx context.Context) {
			f.reflect(ctx, kind.resource.Resource, kind.source, kind.object, kind.store)
		})
	}
	for _, kind := range f.world {
		select {
		case <-kind.store.listed():
		case <-ctx.Done():
			return
		}
	}

	f.setState("it is not known yet whether the kinds PodSequence and ClusterPodSequence are installed")
	for _, kind := range f.sequences {
		kind.definition.MaxDelay, kind.definition.Failed = maxDelay, f.reportFailed(definitions.Resource)
		watches.StartWithContext(ctx, func(ctx context.Context) { kind.definition.Run(ctx, sequenceFollower{f, kind}) })
	}
}

// maxDelay is the longest pause after a failed list or watch: pods wait meanwhile.
const maxDelay = 5 * time.Second

// reflect keeps the store up to date until the context ends, however often the watch breaks.
func (f *Feed) reflect(ctx context.Context, name string, source cache.ListerWatcher, object any, store cache.ReflectorStore) {
	reflectors.Reflector{Name: name, Source: source, Type: object, MaxDelay: maxDelay, Failed: f.reportFailed(name)}.Run(ctx, store)
}

func (f *Feed) reportFailed(name string) func(context.Context, error) {
	return func(ctx context.Context, err error) {
		watchErrors.WithLabelValues(name).Inc()
		klog.FromContext(ctx).Error(err, "Could not list and watch; held pods stay held, will retry", "resource", name)
		f.setFailure(new(fmt.Sprintf("%s cannot be listed: %v", name, err)))
	}
}

// keepTime enters the time at each moment at which time alone changes something, until the context ends.
func (f *Feed) keepTime(ctx context.Context) {
	defer f.timer.Stop()
	for {
		select {
		case <-f.timer.C():
			f.apply(func() sequence.Changes { return sequence.Changes{} })
		case <-ctx.Done():
			return
		}
	}
}

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
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
)

// Feed feeds one engine.
type Feed struct {
	engine *sequence.Engine
	sink   func(sequence.Changes)
	opened func() // nil if not needed

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
	// The callers bound how much is listed at once: to be slowed down further would only keep pods waiting.
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

// fresh returns the newest version of what there was when it was called. Those who ask at the same time share lists, of which the first may
// have begun too early for all but one of them.
func (f *Feed) fresh(ctx context.Context, what string, list func(context.Context) (newest string, err error)) (string, error) {
	for isFirst := true; ; isFirst = false {
		isOwn := false
		newest, err, _ := f.lists.Do(what, func() (any, error) {
			isOwn = true
			ctx, cancel := context.WithTimeout(ctx, listTimeout)
			defer cancel()
			return list(ctx)
		})
		switch {
		case isFirst && !isOwn:
			continue
		case err != nil:
			return "", fmt.Errorf("list %s: %w", what, err)
		}
		return newest.(string), nil
	}
}

// newestSequence returns the newest version of any sequence of a kind; empty if there is none, or no such kind.
func (f *Feed) newestSequence(ctx context.Context, kind *sequenceKind) (string, error) {
	version, err := f.newestOf(ctx, kind.resource, metav1.ListOptions{})
	if !apierrors.IsNotFound(err) {
		return version, err
	}
	// That the watch of definitions has brought none says nothing: it may be behind.
	isServed, err := kind.definition.Ask(ctx)
	if err == nil && isServed {
		err = fmt.Errorf("%s are not served, though their kind is installed", kind.resource.Resource)
	}
	return "", err
}

// CatchUp returns once the engine knows every PodSequence and ClusterPodSequence that there was when it was called, and what a Namespace
// said then. Nobody places a pod while it carries a gate, so whoever lifts the gate can look first: a sequence that was created before the pod,
// and that the watch has not brought yet, holds it as well. All pods that are about to lose their gates share these looks.
func (f *Feed) CatchUp(ctx context.Context, namespace string) error {
	for _, kind := range f.sequences {
		newest, err := f.fresh(ctx, kind.resource.Resource, func(ctx context.Context) (string, error) { return f.newestSequence(ctx, kind) })
		if err != nil {
			return err
		}
		if err := kind.watch.await(ctx, newest); err != nil {
			return err
		}
	}
	newest, err := f.fresh(ctx, "namespace "+namespace, func(ctx context.Context) (string, error) {
		named := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, namespace).String()}
		return f.newestOf(ctx, corev1.SchemeGroupVersion.WithResource("namespaces"), named)
	})
	if err != nil {
		return err
	}
	return f.namespaces.await(ctx, newest)
}

// observeReleases measures how long pods were held. What a process finds released when it starts is none of its doing.
func (f *Feed) observeReleases(changes sequence.Changes) {
	if !f.synced || len(changes.Released) == 0 {
		return
	}
	now := f.clock.Now()
	for i := range changes.Released {
		if changes.Released[i].Again {
			continue
		}
		holdDuration.Observe(max(0, now.Sub(changes.Released[i].CreatedAt).Seconds()))
	}
}

// open opens the sink if the engine knows everything.
func (f *Feed) open() {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	if f.synced || !f.sequences[0].listed || !f.sequences[1].listed {
		return
	}
	f.synced = true
	f.state.Store(nil)
	engineSynced.Set(1)
	f.publish(f.engine.Everything())
	if f.opened != nil {
		f.opened()
	}
}

// suspend closes the sink until the engine knows everything again, the sequences of a kind among them.
func (f *Feed) suspend(kind *sequenceKind, why string) {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	f.synced, kind.listed = false, false
	f.setState(why)
	engineSynced.Set(0)
}

// apply enters something into the engine and passes on what that changed. The two are one step, so that the sink sees
// changes in the order in which they came about.
func (f *Feed) apply(enter func() sequence.Changes) {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	changes := f.engine.Tick(f.clock.Now())
	f.observeReleases(changes)
	f.publish(changes)
	begin := time.Now()
	changes = enter()
	eventDuration.Observe(time.Since(begin).Seconds())
	f.observeReleases(changes)
	f.publish(changes)
	if next := f.engine.NextWake(); !next.IsZero() {
		f.timer.Reset(next.Sub(f.clock.Now()))
	}
}

// publish passes on changes.
func (f *Feed) publish(changes sequence.Changes) {
	if f.synced && !changes.Empty() {
		f.sink(changes)
	}
}

// sequenceStore returns a store that hands the sequences of a kind to the engine. The first complete lists are the last things that the
// engine must know.
func (f *Feed) sequenceStore(kind *sequenceKind, logger klog.Logger) *objectStore[*unstructured.Unstructured] {
	reader := &sequenceReader{kind: kind, logger: logger, unreadable: map[types.NamespacedName]int64{}}
	apply := func(stored *unstructured.Unstructured) sequence.Changes {
		return f.engine.ApplySequences([]order.Stored{reader.read(stored)})
	}
	remove := func(stored *unstructured.Unstructured) sequence.Changes {
		delete(reader.unreadable, keyOf(stored))
		return f.engine.RemoveSequence(keyOf(stored), stored.GetResourceVersion())
	}
	replace := func(list []*unstructured.Unstructured, version string) sequence.Changes {
		all := make([]order.Stored, len(list))
		for i, stored := range list {
			all[i] = reader.read(stored)
		}
		return f.replaceSequences(kind, all, version)
	}
	store := newObjectStore(f, apply, remove, replace)
	store.position, store.replaced = kind.watch, f.open
	return store
}

// replaceSequences enters all sequences of a kind that there are at a version.
func (f *Feed) replaceSequences(kind *sequenceKind, all []order.Stored, version string) sequence.Changes {
	kind.listed = true
	if kind.cluster {
		return f.engine.ReplaceClusterSequences(all, version)
	}
	return f.engine.ReplaceSequences(all, version)
}

// Recorded enters what the API server returned when passes of a sequence were recorded, so that nothing waits for the watch to bring it.
func (f *Feed) Recorded(stored *unstructured.Unstructured) {
	kind := f.sequences[0]
	if stored.GetNamespace() == "" {
		kind = f.sequences[1]
	}
	trimSequence(stored)
	ps := kind.read(stored.Object)
	f.apply(func() sequence.Changes { return f.engine.Recorded(ps) })
}

// watchBuiltInKinds makes the feed watch pods, workloads, namespaces, which say what PodSequences of other namespaces they allow and have
// labels, and, if asked to, nodes.
func (f *Feed) watchBuiltInKinds(config *rest.Config, nodes bool) error {
	clients, err := newClients(config)
	if err != nil {
		return err
	}
	core, err := clients.of(corev1.SchemeGroupVersion)
	if err != nil {
		return err
	}
	namespaces := newObjectStore(f, f.engine.ApplyNamespace, f.engine.RemoveNamespace, f.engine.ReplaceNamespaces)
	f.namespaces = &position{resource: "namespaces"}
	namespaces.position = f.namespaces
	f.world = []watchedKind{
		watched(core, "pods", &corev1.Pod{}, newObjectStore(f, f.engine.ApplyPod, f.engine.RemovePod, f.engine.ReplacePods)),
		watched(core, "namespaces", &corev1.Namespace{}, namespaces),
	}
	if nodes {
		remove := func(node *corev1.Node) sequence.Changes { return f.engine.RemoveNode(node.Name) }
		f.world = append(f.world, watched(core, "nodes", &corev1.Node{}, newObjectStore(f, f.engine.ApplyNode, remove, f.engine.ReplaceNodes)))
	}
	for _, row := range inventory.WorkloadKinds {
		client, err := clients.of(row.Resource.GroupVersion())
		if err != nil {
			return err
		}
		f.world = append(f.world, watched(client, row.Resource.Resource, row.Object, f.workloads(row.Kind)))
	}
	return nil
}

// workloads hands one kind of workload to the engine.
func (f *Feed) workloads(kind inventory.Kind) *objectStore[metav1.Object] {
	replace := func(list []metav1.Object, version string) sequence.Changes {
		return f.engine.ReplaceWorkloads(kind, list, version)
	}
	return newObjectStore(f, f.engine.ApplyWorkload, f.engine.RemoveWorkload, replace)
}

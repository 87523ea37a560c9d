package objectwatch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

const (
	// MaxKindsPerNamespace is of how many kinds the PodSequences of one namespace may wait for objects.
	MaxKindsPerNamespace = 32
	// MaxWatchesOfCluster is in how many places, of a kind and a namespace each, ClusterPodSequences may wait for objects.
	MaxWatchesOfCluster = 512
)

// Observation is how an object is.
type Observation struct {
	State      v1alpha1.ObjectState
	UID        types.UID
	Generation int64
	// Since is when the object became as required, by its own words; zero if it does not say, or is not so.
	Since time.Time
	// Seen is when the watcher first saw the object as required without a break; zero if it is not so.
	Seen time.Time
	// Turned is true if the watcher saw it otherwise before: what an earlier process recorded is then no longer so.
	Turned bool
	// Message says what is missing; empty if nothing is.
	Message string
}

// Watcher watches objects. Its methods may be called at any time, and watch nothing before Run.
type Watcher struct {
	objects dynamic.Interface
	api     discoverer
	clock   clock.Clock
	changed func(sequence types.NamespacedName)

	mu      sync.Mutex
	ctx     context.Context // of Run; nil before and after it
	running sync.WaitGroup
	watches map[place]*watch
	tenants map[string]*tenant // by namespace; that of ClusterPodSequences is empty
}

// place is what one watch is of: a kind in a namespace, which is empty for a kind without one.
type place struct {
	kind      schema.GroupVersionKind
	namespace string
}

// target is an object and what it must reach.
type target struct {
	place
	name, until string
}

// tenant are the sequences of one namespace.
type tenant struct {
	claims map[string]*claim // by the name of the sequence
	places map[place]int     // how many targets they have in each
}

// claim is what a sequence waits for.
type claim struct {
	references []v1alpha1.ObjectReference
	targets    sets.Set[target]
	denied     sets.Set[place] // those for which there was no room; they have no targets
}

// New returns a Watcher that calls changed for each sequence of which an object is not as it was, or may be. Changed must not block. The clock
// says when an object was seen, which status records.
func New(config *rest.Config, clock clock.Clock, changed func(sequence types.NamespacedName)) (*Watcher, error) {
	config = rest.CopyConfig(config)
	rest.AddUserAgent(config, "objects")
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client for objects: %w", err)
	}
	api, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client for discovery: %w", err)
	}
	return newWatcher(objects, api, clock, changed), nil
}

func newWatcher(objects dynamic.Interface, api discoverer, clock clock.Clock, changed func(types.NamespacedName)) *Watcher {
	return &Watcher{
		objects: objects, api: api, clock: clock, changed: changed, watches: map[place]*watch{}, tenants: map[string]*tenant{},
	}
}

// Run watches until the context ends. It may be called once.
func (w *Watcher) Run(ctx context.Context) {
	w.mu.Lock()
	w.ctx = ctx
	for _, watch := range w.watches {
		watch.start()
	}
	w.mu.Unlock()
	<-ctx.Done()
	w.mu.Lock()
	w.ctx = nil // nothing is started any more
	w.mu.Unlock()
	w.running.Wait()
}

// Want says for which objects a sequence waits now. A sequence without a namespace is a ClusterPodSequence.
func (w *Watcher) Want(sequence types.NamespacedName, references []v1alpha1.ObjectReference) {
	w.mu.Lock()
	before := w.claimOf(sequence)
	if before == nil && len(references) == 0 || before != nil && len(before.denied) == 0 && slices.Equal(before.references, references) {
		w.mu.Unlock()
		return
	}
	freed := w.claim(sequence, before, references)
	w.mu.Unlock()
	for _, other := range freed {
		w.changed(other)
	}
}

// Forget says that there is no such sequence.
func (w *Watcher) Forget(sequence types.NamespacedName) { w.Want(sequence, nil) }

// claim replaces what a sequence waits for. It returns the sequences for which there may be room now.
func (w *Watcher) claim(sequence types.NamespacedName, before *claim, references []v1alpha1.ObjectReference) []types.NamespacedName {
	of := w.tenants[sequence.Namespace]
	if of == nil {
		of = &tenant{claims: map[string]*claim{}, places: map[place]int{}}
		w.tenants[sequence.Namespace] = of
	}
	if before == nil {
		before = &claim{}
	}
	of.release(before)
	after := of.take(sequence, references)
	of.claims[sequence.Name] = after
	if len(references) == 0 {
		delete(of.claims, sequence.Name)
	}
	if len(of.claims) == 0 {
		delete(w.tenants, sequence.Namespace)
	}

	for t := range after.targets.Difference(before.targets) {
		w.watchOf(t.place).want(t, sequence)
	}
	hasFreed := false
	for t := range before.targets.Difference(after.targets) {
		w.unwant(t, sequence)
		hasFreed = hasFreed || of.places[t.place] == 0
	}
	if !hasFreed {
		return nil
	}
	var denied []types.NamespacedName
	for name, other := range of.claims {
		if len(other.denied) > 0 {
			denied = append(denied, types.NamespacedName{Namespace: sequence.Namespace, Name: name})
		}
	}
	return denied
}

// claimOf returns what a sequence waits for; nil for nothing.
func (w *Watcher) claimOf(sequence types.NamespacedName) *claim {
	if of := w.tenants[sequence.Namespace]; of != nil {
		return of.claims[sequence.Name]
	}
	return nil
}

// release gives back the places of a claim.
func (t *tenant) release(c *claim) {
	for wanted := range c.targets {
		t.places[wanted.place]--
		if t.places[wanted.place] == 0 {
			delete(t.places, wanted.place)
		}
	}
}

// take takes places for a sequence, as far as there is room.
func (t *tenant) take(sequence types.NamespacedName, references []v1alpha1.ObjectReference) *claim {
	c := &claim{references: slices.Clone(references), targets: sets.New[target](), denied: sets.New[place]()}
	limit := MaxKindsPerNamespace // they have one place for each kind
	if sequence.Namespace == "" {
		limit = MaxWatchesOfCluster
	}
	for i := range references {
		wanted, problem := targetOf(sequence, &references[i])
		switch {
		case problem != "" || c.targets.Has(wanted):
		case t.places[wanted.place] > 0 || len(t.places) < limit:
			t.places[wanted.place]++
			c.targets.Insert(wanted)
		default:
			c.denied.Insert(wanted.place)
		}
	}
	return c
}

// targetOf returns what a sequence refers to, or why it cannot be.
func targetOf(sequence types.NamespacedName, reference *v1alpha1.ObjectReference) (target, string) {
	version, err := schema.ParseGroupVersion(reference.APIVersion)
	if err != nil || version.Version == "" {
		return target{}, fmt.Sprintf("apiVersion %q is not a group and a version", reference.APIVersion)
	}
	namespace := reference.Namespace
	if sequence.Namespace != "" {
		if namespace != "" && namespace != sequence.Namespace {
			return target{}, "a PodSequence waits for objects of its own namespace only; use a ClusterPodSequence"
		}
		namespace = sequence.Namespace
	}
	return target{
		place: place{version.WithKind(reference.Kind), namespace},
		name:  reference.Name, until: cmp.Or(reference.Until, v1alpha1.UntilCurrent),
	}, ""
}

// Observe returns how an object is that Want has named for the sequence. It is not known while it has not been seen yet and nothing is in
// the way that would last; the message says what failed, if anything did.
func (w *Watcher) Observe(sequence types.NamespacedName, reference *v1alpha1.ObjectReference) (o Observation, known bool) {
	t, problem := targetOf(sequence, reference)
	if problem != "" {
		return notReadable(problem), true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if claim := w.claimOf(sequence); claim != nil && claim.denied.Has(t.place) {
		return notReadable(noRoom(sequence.Namespace)), true
	}
	watch := w.watches[t.place]
	if watch == nil {
		return Observation{State: v1alpha1.ObjectWaiting}, false
	}
	if watch.fault != noFault {
		return notReadable(watch.explain(sequence)), true
	}
	judgement := watch.wanted[t.name][t.until]
	if judgement == nil || !judgement.known || !watch.isLive() {
		return Observation{State: v1alpha1.ObjectWaiting, Message: notSeen(watch.trouble)}, false
	}
	return judgement.Observation, true
}

func notReadable(message string) Observation {
	return Observation{State: v1alpha1.ObjectNotReadable, Message: message}
}

// watchOf returns the watch of a place, which begins if there is none.
func (w *Watcher) watchOf(p place) *watch {
	of := w.watches[p]
	if of != nil {
		return of
	}
	of = newWatch(w, p)
	w.watches[p] = of
	if w.ctx != nil {
		of.start()
	}
	return of
}

// unwant ends the watch of a place for which no sequence waits any more.
func (w *Watcher) unwant(t target, sequence types.NamespacedName) {
	of := w.watches[t.place]
	of.unwant(t, sequence)
	if len(of.wanted) > 0 {
		return
	}
	of.stop()
	delete(w.watches, t.place)
}

// tell calls changed for sequences; the lock must not be held.
func (w *Watcher) tell(sequences sets.Set[types.NamespacedName]) {
	for sequence := range sequences {
		w.changed(sequence)
	}
}

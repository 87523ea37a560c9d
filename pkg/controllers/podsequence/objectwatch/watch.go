package objectwatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/reflectors"
	"example.com/podsequence/pkg/controllers/podsequence/objects"
)

// watch is the watch of one place. What it knows is guarded by the lock of its Watcher.
type watch struct {
	place
	watcher *Watcher
	cancel  context.CancelFunc

	stopped bool
	fault   fault
	trouble string // the last error of which nothing follows
	served  kind   // how the kind is served, as far as known
	// found are all objects, by name; nil before the list is complete. isWatched is true when the watch of what comes after it has begun.
	// One without the other says little, for a role may permit only one of them.
	found     map[string]*unstructured.Unstructured
	isWatched bool

	wanted map[string]map[string]*judgement // those that a sequence waits for, by name and what they must reach
}

// judgement is how an object is to what some sequences require.
type judgement struct {
	Observation
	known     bool
	otherwise time.Time // when the object was last seen not to be as required; zero if it was not
	sequences sets.Set[types.NamespacedName]
}

// become notes an observation, and reports whether it is another than before. A condition that claims to be True since before the object
// was last seen otherwise does not say since when: some controllers leave lastTransitionTime as it is, and a condition that is True for an
// older generation counts again without a transition.
func (j *judgement) become(observed Observation, now time.Time) bool {
	before := j.Observation
	if observed.State != v1alpha1.ObjectSatisfied {
		j.otherwise = now
	} else if observed.Since.Before(j.otherwise.Truncate(time.Second)) {
		observed.Since = time.Time{}
	}
	switch {
	case observed.State != v1alpha1.ObjectSatisfied:
	case j.known && before.State == v1alpha1.ObjectSatisfied && before.UID == observed.UID:
		observed.Seen, observed.Turned = before.Seen, before.Turned
	default:
		observed.Seen, observed.Turned = now, j.known
	}
	isNew := !j.known || before != observed
	j.Observation, j.known = observed, true
	return isNew
}

func newWatch(w *Watcher, p place) *watch {
	return &watch{place: p, watcher: w, wanted: map[string]map[string]*judgement{}}
}

// start begins to watch. The lock is held.
func (w *watch) start() {
	ctx, cancel := context.WithCancel(w.watcher.ctx)
	w.cancel = cancel
	w.watcher.running.Go(func() { w.run(ctx) })
}

// stop ends the watch. The lock is held.
func (w *watch) stop() {
	w.stopped = true
	if w.cancel != nil {
		w.cancel()
	}
}

// want adds an object to those that are judged. The lock is held.
func (w *watch) want(t target, sequence types.NamespacedName) {
	untils := w.wanted[t.name]
	if untils == nil {
		untils = map[string]*judgement{}
		w.wanted[t.name] = untils
	}
	if untils[t.until] == nil {
		untils[t.until] = &judgement{sequences: sets.New[types.NamespacedName]()}
		if w.found != nil {
			w.judge(t.name)
		}
	}
	untils[t.until].sequences.Insert(sequence)
}

// unwant is the opposite of want. The lock is held.
func (w *watch) unwant(t target, sequence types.NamespacedName) {
	untils := w.wanted[t.name]
	untils[t.until].sequences.Delete(sequence)
	if len(untils[t.until].sequences) == 0 {
		delete(untils, t.until)
	}
	if len(untils) == 0 {
		delete(w.wanted, t.name)
	}
}

func (w *watch) isLive() bool { return w.found != nil && w.isWatched }

// run watches until the context ends, whenever that is possible.
func (w *watch) run(ctx context.Context) {
	pause := newPause()
	for {
		served, err := discover(ctx, w.watcher.api, w.kind)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil: // whatever it is, it says nothing of the kind
			w.failed(ctx, fmt.Errorf("ask which kinds are served: %s", inWords(err)))
		case served == nil:
			w.setFault(ctx, notServed)
		case served.namespaced != (w.namespace != ""):
			w.setFault(ctx, wrongScope)
		default:
			if w.read(ctx, *served) {
				pause = newPause()
			}
		}
		select {
		case <-w.watcher.clock.After(pause.Step()):
		case <-ctx.Done():
		}
	}
}

// newPause returns the pauses between attempts that fail.
func newPause() wait.Backoff {
	return wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 12, Cap: 30 * time.Second}
}

// read watches until the context ends, or the kind is not served like this or cannot be read any more. It reports whether it could be
// read at some time.
func (w *watch) read(ctx context.Context, served kind) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.watcher.mu.Lock()
	w.served, w.found, w.isWatched = served, nil, false
	if w.fault == notServed || w.fault == wrongScope {
		w.fault = noFault
	}
	w.watcher.mu.Unlock()

	store := &store{watch: w, client: w.watcher.objects.Resource(served.resource).Namespace(w.namespace)}
	reflectors.Reflector{
		Name: served.resource.GroupResource().String(), Source: store.source(), Type: &unstructured.Unstructured{},
		Failed: func(ctx context.Context, err error) {
			if w.failed(ctx, err) {
				cancel()
			}
		},
	}.Run(ctx, store)
	return store.wasLive
}

// errServedOtherwise ends a watch of a kind whose definition has changed.
var errServedOtherwise = errors.New("the kind is served otherwise than before")

// failed notes an error. It reports whether the kind must be looked up again, since another attempt alone would not do.
func (w *watch) failed(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	if errors.Is(err, errServedOtherwise) {
		return true
	}
	watchErrors.Inc()
	switch {
	case apierrors.IsForbidden(err):
		w.setFault(ctx, forbidden)
	case apierrors.IsNotFound(err):
		w.setFault(ctx, notServed)
	case apierrors.IsMethodNotSupported(err):
		w.setFault(ctx, noWatch)
	default:
		klog.FromContext(ctx).Error(err, "Could not list and watch objects that sequences wait for, will retry",
			"kind", w.kind, "namespace", w.namespace)
		w.setTrouble(inWords(err))
		return false
	}
	return true
}

// setTrouble notes an error, and tells it the sequences whose objects have not been seen yet.
func (w *watch) setTrouble(trouble string) {
	w.watcher.mu.Lock()
	var concerned sets.Set[types.NamespacedName]
	if !w.isLive() && !w.stopped && w.trouble != trouble {
		concerned = w.waiting()
	}
	w.trouble = trouble
	w.watcher.mu.Unlock()
	w.watcher.tell(concerned)
}

// waiting returns the sequences that wait for objects of the watch. The lock is held.
func (w *watch) waiting() sets.Set[types.NamespacedName] {
	sequences := sets.New[types.NamespacedName]()
	for _, untils := range w.wanted {
		for _, j := range untils {
			sequences = sequences.Union(j.sequences)
		}
	}
	return sequences
}

// setFault notes that objects cannot be read, and tells the sequences that wait for them.
func (w *watch) setFault(ctx context.Context, f fault) {
	w.watcher.mu.Lock()
	if w.fault == f || w.stopped {
		w.watcher.mu.Unlock()
		return
	}
	w.fault, w.found, w.isWatched = f, nil, false
	for _, untils := range w.wanted {
		for _, j := range untils {
			j.known = false
		}
	}
	concerned, why := w.waiting(), w.explain(types.NamespacedName{Namespace: w.namespace})
	w.watcher.mu.Unlock()
	klog.FromContext(ctx).Info("Cannot read objects that sequences wait for", "kind", w.kind, "namespace", w.namespace, "why", why)
	w.watcher.tell(concerned)
}

// explain says in words why the objects cannot be read, and what a person can do about it.
func (w *watch) explain(sequence types.NamespacedName) string {
	name := w.kind.Kind
	switch w.fault {
	case notServed:
		return fmt.Sprintf("the kind %s is not installed in version %s", name, w.kind.GroupVersion())
	case noWatch:
		return fmt.Sprintf("objects of the kind %s of %s can be neither listed nor watched", name, w.kind.GroupVersion())
	case forbidden:
		return fmt.Sprintf("podsequence-controller may not read %[1]s; create a ClusterRole with the label %[2]s: \"true\" and the rule "+
			"apiGroups: [%[3]q], resources: [%[4]q], verbs: [get, list, watch]",
			w.served.resource.GroupResource(), AggregationLabel, w.served.resource.Group, w.served.resource.Resource)
	case wrongScope:
		switch {
		case w.namespace == "":
			return fmt.Sprintf("the kind %s has namespaces; say in which the object is", name)
		case sequence.Namespace != "":
			return fmt.Sprintf("only a ClusterPodSequence may wait for cluster-scoped objects, such as a %s", name)
		default:
			return fmt.Sprintf("the kind %s is cluster-scoped; remove the namespace from the reference", name)
		}
	}
	return ""
}

// judge notes how an object is that sequences may wait for, and returns those for which that is new. The lock is held.
func (w *watch) judge(name string) sets.Set[types.NamespacedName] {
	concerned := sets.New[types.NamespacedName]()
	now := w.watcher.clock.Now()
	for until, j := range w.wanted[name] {
		observed := Observation{State: v1alpha1.ObjectNotFound}
		if found := w.found[name]; found != nil {
			observed = observe(found, objects.Judge(found, until, w.served.hasStatus, now))
		}
		if j.become(observed, now) {
			concerned = concerned.Union(j.sequences)
		}
	}
	return concerned
}

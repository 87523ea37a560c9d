package objectwatch

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"example.com/podsequence/pkg/reflectors"
)

// watch is the watch of one place. What it knows is guarded by the lock of its Watcher.
type watch struct {
	place
	watcher *Watcher
	cancel  context.CancelFunc
	// again has a token when the kind should be looked up again: it may be served otherwise than before, or be readable.
	again chan struct{}
	// asks has a token when unseen has names.
	asks chan struct{}

	stopped bool
	fault   fault
	trouble string // the last error of which nothing follows
	served  kind   // how the kind is served, as far as known
	// The list is complete and the watch of what comes after it has begun: one without the other says little, for a role may permit
	// only one of them.
	isListed, isWatched bool

	objects map[string]*object // those that a sequence waits for
	unseen  sets.Set[string]   // those that came after the list was complete
}

// object is one that a sequence waits for.
type object struct {
	untils map[string]*judgement
	// version is that of the object, or of the list without it, that was judged last. asked is it if the object was asked for by itself, and
	// the watch may be behind: what it brings that is not newer is known.
	version, asked string
}

// wasJudgedBy reports whether it is judged by an object with this UID. That one cannot be gone for longer, whatever version its deletion has.
func (o *object) wasJudgedBy(uid types.UID) bool {
	for _, j := range o.untils {
		if j.known && j.UID == uid {
			return true
		}
	}
	return false
}

// isJudged reports whether everything is known of the object that sequences require of it. The lock is held.
func (o *object) isJudged() bool {
	for _, j := range o.untils {
		if !j.known {
			return false
		}
	}
	return true
}

// judgement is how an object is to what some sequences require.
type judgement struct {
	Observation
	known     bool
	otherwise time.Time // when the object was last seen not to be as required; zero if it was not
	sequences sets.Set[types.NamespacedName]
}

func newWatch(w *Watcher, p place) *watch {
	watches.WithLabelValues(statePending).Inc()
	return &watch{
		place: p, watcher: w, again: make(chan struct{}, 1), asks: make(chan struct{}, 1),
		objects: map[string]*object{}, unseen: sets.New[string](),
	}
}

// start begins to watch. The lock is held.
func (w *watch) start() {
	ctx, cancel := context.WithCancel(w.watcher.ctx)
	w.cancel = cancel
	w.watcher.running.Go(func() { w.run(ctx) })
}

// stop ends the watch. The lock is held.
func (w *watch) stop() {
	watches.WithLabelValues(w.state()).Dec()
	w.stopped = true
	if w.cancel != nil {
		w.cancel()
	}
}

// want adds an object to those that are judged. The lock is held.
func (w *watch) want(t target, sequence types.NamespacedName) {
	o := w.objects[t.name]
	if o == nil {
		o = &object{untils: map[string]*judgement{}}
		w.objects[t.name] = o
	}
	if o.untils[t.until] == nil {
		o.untils[t.until] = &judgement{sequences: sets.New[types.NamespacedName]()}
		if w.isListed {
			w.unseen.Insert(t.name)
			signal(w.asks)
		}
	}
	o.untils[t.until].sequences.Insert(sequence)
}

// unwant is the opposite of want. The lock is held.
func (w *watch) unwant(t target, sequence types.NamespacedName) {
	o := w.objects[t.name]
	if o.untils[t.until].sequences.Delete(sequence); len(o.untils[t.until].sequences) == 0 {
		delete(o.untils, t.until)
	}
	if len(o.untils) == 0 {
		delete(w.objects, t.name)
		w.unseen.Delete(t.name)
	}
}

func (w *watch) isLive() bool { return w.isListed && w.isWatched }

// run watches until the context ends, whenever that is possible.
func (w *watch) run(ctx context.Context) {
	pause := newPause()
	for {
		served, err := w.watcher.kinds.get(ctx, w.kind)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			w.failed(ctx, err)
		case served == nil:
			w.setFault(ctx, notServed)
		case served.namespaced != (w.namespace != ""):
			w.setFault(ctx, wrongScope)
		default:
			if w.read(ctx, *served) {
				pause = newPause()
			}
		}
		timer := w.watcher.clock.NewTimer(pause.Step())
		select {
		case <-w.again:
			pause = newPause()
		case <-timer.C():
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// newPause returns the pauses between attempts that fail.
func newPause() wait.Backoff {
	return wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 12, Cap: 5 * time.Minute}
}

// read watches until the context ends, or the kind is not served like this or cannot be read any more. It reports whether it could be
// read at some time.
func (w *watch) read(ctx context.Context, served kind) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.watcher.mu.Lock()
	w.transition(func() {
		w.served, w.isListed, w.isWatched = served, false, false
		if w.fault == notServed || w.fault == wrongScope {
			w.fault = noFault
		}
	})
	w.unseen.Clear()
	w.watcher.mu.Unlock()

	store := &store{watch: w, client: w.watcher.objects.Resource(served.resource).Namespace(w.namespace)}
	reflector := reflectors.Reflector{
		Name: served.resource.GroupResource().String(), Source: store.source(), Type: &unstructured.Unstructured{},
		Failed: func(ctx context.Context, err error) {
			if w.failed(ctx, err) {
				cancel()
			}
		},
	}
	var beside sync.WaitGroup
	beside.Go(func() { store.askUnseen(ctx, cancel) })
	followed := false
	beside.Go(func() { followed = w.follow(ctx, cancel, served) })
	reflector.Run(ctx, store)
	cancel()
	beside.Wait()
	if followed && !store.wasLive {
		signal(w.again) // what failed may have begun before that
	}
	return store.wasLive
}

// follow cancels when the kind is served otherwise than before. It reports whether it was told to look.
func (w *watch) follow(ctx context.Context, cancel context.CancelFunc, before kind) (told bool) {
	for {
		select {
		case <-w.again:
			told = true
		case <-ctx.Done():
			return told
		}
		// If the API server does not say, or no longer serves the kind, the watch finds out by itself.
		if served, err := w.watcher.kinds.get(ctx, w.kind); err == nil && served != nil && *served != before {
			cancel()
			signal(w.again)
			return told
		}
	}
}

// failed notes an error. It reports whether it takes more than another attempt to go on.
func (w *watch) failed(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	watchErrors.Inc()
	switch {
	case apierrors.IsForbidden(err):
		w.setFault(ctx, forbidden)
	case apierrors.IsNotFound(err):
		w.watcher.kinds.forget(w.kind.Group)
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
		concerned, _ = w.waiting()
	}
	w.trouble = trouble
	w.watcher.mu.Unlock()
	w.watcher.tell(concerned)
}

// waiting returns the sequences that wait for objects of the watch, and why they cannot be read, if so. The lock is held.
func (w *watch) waiting() (sequences sets.Set[types.NamespacedName], why string) {
	sequences = sets.New[types.NamespacedName]()
	for _, o := range w.objects {
		for _, j := range o.untils {
			for sequence := range j.sequences {
				sequences.Insert(sequence)
				why = w.explain(sequence)
			}
		}
	}
	return sequences, why
}

// setFault notes that objects cannot be read, and tells the sequences that wait for them.
func (w *watch) setFault(ctx context.Context, f fault) {
	w.watcher.mu.Lock()
	if w.fault == f || w.stopped {
		w.watcher.mu.Unlock()
		return
	}
	w.transition(func() { w.fault, w.isListed, w.isWatched = f, false, false })
	for _, o := range w.objects {
		for _, j := range o.untils {
			j.known = false
		}
	}
	concerned, why := w.waiting()
	w.watcher.mu.Unlock()
	klog.FromContext(ctx).Info("Cannot read objects that sequences wait for", "kind", w.kind, "namespace", w.namespace, "why", why)
	w.watcher.tell(concerned)
}

// transition changes the state, and keeps its metric to it. The lock is held.
func (w *watch) transition(change func()) {
	if w.stopped {
		return
	}
	watches.WithLabelValues(w.state()).Dec()
	change()
	watches.WithLabelValues(w.state()).Inc()
}

func (w *watch) state() string {
	switch {
	case w.fault != noFault:
		return stateNotReadable
	case w.isLive():
		return stateReading
	}
	return statePending
}

// signal puts a token into a channel that has room for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

package sequentialjob

import (
	"container/list"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// firstRetry is how long after a refusal the next Job of the namespace is tried. Each that follows doubles it.
	firstRetry = 500 * time.Millisecond
	// maxRetry is the longest that it becomes for one object, and longest between two tries of one object. Of many, each
	// waits longer: see minRetry.
	maxRetry = 2 * time.Minute
	// minRetry is what it becomes at least, however many objects share it.
	minRetry = 10 * time.Second
)

// refusals paces the retries of Jobs that the API server refuses by a quota or an admission policy. What it refuses to one
// object of a namespace it probably refuses to all. So they share one back-off: one object tries at a time, and the one
// that was tried longest ago comes next. An object that was not refused yet tries at once.
//
// It forgets a namespace that has no refused objects. A process that has just started remembers nothing; then a namespace
// begins with the shortest wait.
type refusals struct {
	clock clock.PassiveClock
	// wake makes the controller look at an object after some time. It is called with the lock held, and must not call back.
	wake func(key types.NamespacedName, after time.Duration)

	lock       sync.Mutex
	namespaces map[string]*refused
}

// refused are the objects of a namespace that wait for a retry.
type refused struct {
	order  *list.List // of names: the first is the next to try
	places map[string]*list.Element
	delay  time.Duration
	next   time.Time
}

func newRefusals(clock clock.PassiveClock, wake func(types.NamespacedName, time.Duration)) *refusals {
	return &refusals{clock: clock, wake: wake, namespaces: map[string]*refused{}}
}

// mayTry reports whether the object may ask for its Job now. If status says that it was refused before, and it is
// not its turn, it is woken when it is.
func (r *refusals) mayTry(key types.NamespacedName, wasRefused bool) bool {
	if !wasRefused {
		return true // if it was, and status could not say so, what the API server answers is needed once more
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	n, ok := r.namespaces[key.Namespace]
	if !ok {
		n = r.begin(key.Namespace)
	}
	place, listed := n.places[key.Name]
	if !listed {
		place = n.order.PushBack(key.Name)
		n.places[key.Name] = place
	}
	if n.order.Front() != place {
		return false
	}
	if wait := n.next.Sub(r.clock.Now()); wait > 0 {
		r.wake(key, wait)
		return false
	}
	return true
}

func (r *refusals) begin(namespace string) *refused {
	n := &refused{order: list.New(), places: map[string]*list.Element{}}
	r.namespaces[namespace] = n
	return n
}

// refuses reports whether the last Job that was asked for in a namespace was refused.
func (r *refusals) refuses(namespace string) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	n, ok := r.namespaces[namespace]
	return ok && n.delay > 0
}

// failed notes that the object's Job was refused, or could not be created: it comes last now.
func (r *refusals) failed(key types.NamespacedName) {
	r.lock.Lock()
	defer r.lock.Unlock()
	n, ok := r.namespaces[key.Namespace]
	if !ok {
		n = r.begin(key.Namespace)
	}
	place, listed := n.places[key.Name]
	wasItsTurn := listed && n.order.Front() == place
	if listed {
		n.order.MoveToBack(place)
	} else {
		n.places[key.Name] = n.order.PushBack(key.Name)
	}
	if wasItsTurn || n.delay == 0 {
		longest := max(minRetry, maxRetry/time.Duration(n.order.Len()))
		n.delay = min(max(firstRetry, 2*n.delay), longest)
		n.next = r.clock.Now().Add(n.delay)
		r.wakeFirst(key.Namespace, n)
	}
}

// created notes that the API server accepted a Job of the namespace: the others try at once.
func (r *refusals) created(key types.NamespacedName) {
	r.lock.Lock()
	defer r.lock.Unlock()
	n, ok := r.namespaces[key.Namespace]
	if !ok {
		return
	}
	r.remove(n, key)
	n.delay, n.next = 0, time.Time{}
	r.wakeFirst(key.Namespace, n)
}

// done notes that the object waits for no retry, for another reason than that its Job was created.
func (r *refusals) done(key types.NamespacedName) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if n, ok := r.namespaces[key.Namespace]; ok && r.remove(n, key) {
		r.wakeFirst(key.Namespace, n)
	}
}

// retryNow notes that something has happened in the namespace after which a Job may be accepted that was refused before.
func (r *refusals) retryNow(namespace string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if n, ok := r.namespaces[namespace]; ok {
		n.delay, n.next = 0, time.Time{}
		r.wakeFirst(namespace, n)
	}
}

func (r *refusals) remove(n *refused, key types.NamespacedName) bool {
	place, ok := n.places[key.Name]
	if !ok {
		return false
	}
	n.order.Remove(place)
	delete(n.places, key.Name)
	return true
}

// wakeFirst wakes the object whose turn it is. It forgets the namespace if there is none.
func (r *refusals) wakeFirst(namespace string, n *refused) {
	first := n.order.Front()
	if first == nil {
		delete(r.namespaces, namespace)
		return
	}
	r.wake(types.NamespacedName{Namespace: namespace, Name: first.Value.(string)}, max(0, n.next.Sub(r.clock.Now())))
}

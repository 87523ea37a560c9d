// Package fairqueue makes work queues that serve namespaces in turn.
//
// In a queue that serves items in the order in which they come, 10,000 items of one namespace delay those of all others that
// come later. Here an item waits for those of its own namespace that came before it, and for at most one of each other
// namespace for each of these. Everything else is as in client-go's queues: an item is in the queue once, and is not worked on
// by two at a time.
package fairqueue

import (
	"k8s.io/client-go/util/workqueue"
)

// New returns a queue whose items belong to the namespaces that namespaceOf says. Its metrics have the configured name.
func New[T comparable](
	namespaceOf func(T) string, limiter workqueue.TypedRateLimiter[T], config workqueue.TypedRateLimitingQueueConfig[T],
) workqueue.TypedRateLimitingInterface[T] {
	inTurn := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[T]{
		Name: config.Name, MetricsProvider: config.MetricsProvider, Clock: config.Clock, Queue: newTurns(namespaceOf),
	})
	config.DelayingQueue = workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{
		Name: config.Name, MetricsProvider: config.MetricsProvider, Clock: config.Clock, Queue: inTurn,
	})
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, config)
}

// By returns a maker of such queues, as a controller takes one.
func By[T comparable](namespaceOf func(T) string) func(
	name string, limiter workqueue.TypedRateLimiter[T],
) workqueue.TypedRateLimitingInterface[T] {
	return func(name string, limiter workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
		return New(namespaceOf, limiter, workqueue.TypedRateLimitingQueueConfig[T]{Name: name})
	}
}

// turns is the storage of a queue. The queue's lock protects it.
type turns[T comparable] struct {
	namespaceOf func(T) string
	// items are those that wait, by namespace and in the order in which they came. A namespace without any is not there.
	items map[string][]T
	// order lists each of these namespaces once. The first is served next.
	order []string
	size  int
}

var _ workqueue.Queue[string] = &turns[string]{}

func newTurns[T comparable](namespaceOf func(T) string) *turns[T] {
	return &turns[T]{namespaceOf: namespaceOf, items: map[string][]T{}}
}

// Touch implements workqueue.Queue. An item that is added again keeps its place.
func (*turns[T]) Touch(T) {}

// Push implements workqueue.Queue.
func (q *turns[T]) Push(item T) {
	namespace := q.namespaceOf(item)
	waiting := q.items[namespace]
	if len(waiting) == 0 {
		q.order = append(q.order, namespace)
	}
	q.items[namespace] = append(waiting, item)
	q.size++
}

// Len implements workqueue.Queue.
func (q *turns[T]) Len() int { return q.size }

// Pop implements workqueue.Queue. It takes the first item of the namespace whose turn it is, and puts that namespace last.
func (q *turns[T]) Pop() T {
	var namespace string
	namespace, q.order = pop(q.order)
	item, waiting := pop(q.items[namespace])
	if len(waiting) == 0 {
		delete(q.items, namespace)
	} else {
		q.items[namespace] = waiting
		q.order = append(q.order, namespace)
	}
	q.size--
	return item
}

// pop takes the first off a slice, which then does not refer to it any more.
func pop[E any](all []E) (first E, rest []E) {
	var none E
	first, all[0] = all[0], none
	return first, all[1:]
}

package podsequence

import (
	"context"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"example.com/podsequence/pkg/sequence"
)

// nodeUse sums up what the pods on each node request. It follows the informer that the scheduler has of all pods: the feed does
// not bring those of namespaces without sequences, and nothing is kept of a pod here.
type nodeUse struct {
	mu      sync.Mutex
	sums    map[string]sequence.Resources // by node
	changed map[string]struct{}           // nodes whose sums have not been published yet
	wake    chan struct{}                 // has a token while there are any
}

var _ cache.ResourceEventHandler = &nodeUse{}

func newNodeUse() *nodeUse {
	return &nodeUse{sums: map[string]sequence.Resources{}, changed: map[string]struct{}{}, wake: make(chan struct{}, 1)}
}

// OnAdd implements cache.ResourceEventHandler.
func (u *nodeUse) OnAdd(obj any, _ bool) { u.change(nil, obj) }

// OnUpdate implements cache.ResourceEventHandler.
func (u *nodeUse) OnUpdate(before, now any) {
	was, known := before.(*v1.Pod)
	if is, ok := now.(*v1.Pod); known && ok && sequence.TakesAsBefore(was, is) {
		return
	}
	u.change(before, now)
}

// OnDelete implements cache.ResourceEventHandler.
func (u *nodeUse) OnDelete(obj any) {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	u.change(obj, nil)
}

// change enters what a pod takes now in place of what it took before.
func (u *nodeUse) change(before, now any) {
	nodeBefore, takenBefore := usageOf(before)
	node, taken := usageOf(now)
	if nodeBefore == node && takenBefore.Equal(taken) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.add(nodeBefore, takenBefore, -1)
	u.add(node, taken, +1)
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

func (u *nodeUse) add(node string, taken sequence.Resources, times int64) {
	if node == "" {
		return
	}
	if sum := u.sums[node].Plus(taken, times); len(sum) > 0 {
		u.sums[node] = sum
	} else {
		delete(u.sums, node)
	}
	u.changed[node] = struct{}{}
}

// usageOf returns on which node a pod takes something, and what; no node if it takes nothing.
func usageOf(obj any) (node string, all sequence.Resources) {
	pod, ok := obj.(*v1.Pod)
	if !ok {
		return "", nil
	}
	if all = sequence.TakenBy(pod); all == nil {
		return "", nil
	}
	return pod.Spec.NodeName, all
}

// publish passes on the sums that change until the context ends. What changes while one is passed on is passed on once.
func (u *nodeUse) publish(ctx context.Context, to func(node string, used sequence.Resources)) {
	for {
		for node, used := range u.take() {
			to(node, used)
		}
		select {
		case <-u.wake:
		case <-ctx.Done():
			return
		}
	}
}

// take returns the sums that have changed since it was called last.
func (u *nodeUse) take() map[string]sequence.Resources {
	u.mu.Lock()
	defer u.mu.Unlock()
	changed := make(map[string]sequence.Resources, len(u.changed))
	for node := range u.changed {
		changed[node] = u.sums[node]
	}
	clear(u.changed)
	return changed
}

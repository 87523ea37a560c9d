package podwriter

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// parked are pods that wait for channels to be closed, one goroutine a channel. The zero value has none.
type parked struct {
	mu      sync.Mutex
	pods    map[<-chan struct{}]map[types.NamespacedName]struct{}
	waiters sync.WaitGroup
}

// add calls wake with the pod when the channel is closed, unless the context ends before. A pod that is added twice for the same
// channel is woken once.
func (p *parked) add(ctx context.Context, pod types.NamespacedName, until <-chan struct{}, wake func(types.NamespacedName)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pods := p.pods[until]; pods != nil {
		pods[pod] = struct{}{}
		return
	}
	if p.pods == nil {
		p.pods = map[<-chan struct{}]map[types.NamespacedName]struct{}{}
	}
	p.pods[until] = map[types.NamespacedName]struct{}{pod: {}}
	p.waiters.Go(func() {
		select {
		case <-until:
		case <-ctx.Done():
		}
		for pod := range p.take(until) {
			wake(pod)
		}
	})
}

func (p *parked) take(until <-chan struct{}) map[types.NamespacedName]struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	pods := p.pods[until]
	delete(p.pods, until)
	return pods
}

// wait returns when nothing waits any more. The context of each pod must have ended.
func (p *parked) wait() { p.waiters.Wait() }

package feed

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

// askTimeout is how long one question to the API server may take before it is asked again.
const askTimeout = 10 * time.Second

// position is how far the watch of one kind has come: the engine knows what it has brought.
type position struct {
	resource string // for messages

	mu      sync.Mutex
	version string
	moved   chan struct{} // closed when the version changes; nil if nobody waits for that
}

// brought notes that the watch has brought everything up to this version into the engine.
func (p *position) brought(version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !after(version, p.version) {
		return
	}
	p.version = version
	if p.moved != nil {
		close(p.moved)
		p.moved = nil
	}
}

// at is the last version that the watch brought.
func (p *position) at() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.version
}

// await returns once the watch has brought this version.
func (p *position) await(ctx context.Context, version string) error {
	for {
		p.mu.Lock()
		there := !after(version, p.version)
		if !there && p.moved == nil {
			p.moved = make(chan struct{})
		}
		moved := p.moved
		p.mu.Unlock()
		if there {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("wait for the watch of %s to reach version %s: %w", p.resource, version, context.Cause(ctx))
		}
	}
}

// persist tries until it works, is not needed any more, or the context ends.
func persist(ctx context.Context, resource, complaint string, needed func() bool, try func(context.Context) error) {
	retry := wait.Backoff{Duration: 100 * time.Millisecond, Cap: 2 * time.Second, Steps: 10, Factor: 2, Jitter: 0.2}
	for needed() && ctx.Err() == nil {
		timed, cancel := context.WithTimeout(ctx, askTimeout)
		err := try(timed)
		cancel()
		if err == nil || ctx.Err() != nil || !needed() {
			return
		}
		klog.FromContext(ctx).Error(err, complaint+", will try again")
		watchErrors.WithLabelValues(resource).Inc()
		select {
		case <-time.After(retry.Step()):
		case <-ctx.Done():
		}
	}
}

func latest(a, b string) string {
	if after(b, a) {
		return b
	}
	return a
}

// after tells whether version a is later than b. The empty version is earlier than any.
func after(a, b string) bool {
	switch {
	case a == "" || a == b:
		return false
	case b == "":
		return true
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}

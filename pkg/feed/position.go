package feed

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// position is how far the watch of one kind has come: the engine knows what it has brought.
type position struct {
	resource string // for messages

	mu      sync.Mutex
	version string
	moved   chan struct{} // closed when the watch brings more; nil while nothing waits
}

// advance notes that the watch has brought everything up to this version into the engine. p may be nil.
func (p *position) advance(version string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.version = latest(p.version, version); p.moved != nil {
		close(p.moved)
		p.moved = nil
	}
}

// await returns once the watch has brought this version, which is one of its kind.
func (p *position) await(ctx context.Context, version string) error {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	for {
		p.mu.Lock()
		if !after(version, p.version) {
			p.mu.Unlock()
			return nil
		}
		if p.moved == nil {
			p.moved = make(chan struct{})
		}
		moved := p.moved
		p.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("wait for the watch of %s to reach version %s: %w", p.resource, version, context.Cause(ctx))
		}
	}
}

func latest(a, b string) string {
	if after(b, a) {
		return b
	}
	return a
}

// after reports whether version a is later than b, of one kind. The empty version is earlier than any.
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

package feed

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// position is how far the watch of one kind has come: the engine knows what it has brought.
//
// mu guards version, waiting and dropped. It is the innermost lock.
type position struct {
	resource string // for messages
	versions *versions

	mu      sync.Mutex
	version string
	waiting map[*versionWaiter]struct{} // those that this watch is behind
	dropped chan struct{}               // closed when something was removed; nil if nobody waits for that
}

func newPosition(resource string, versions *versions) *position {
	return &position{resource: resource, versions: versions, waiting: map[*versionWaiter]struct{}{}}
}

// advanceByEvent notes that the watch has brought everything up to this version into the engine.
func (p *position) advanceByEvent(version string) {
	p.versions.enter(version)
	p.advanceTo(version)
}

// advanceByBookmark notes that the watch has brought everything up to this version, which is not that of an event.
func (p *position) advanceByBookmark(version string) {
	p.versions.saw(version)
	p.advanceTo(version)
}

func (p *position) advanceTo(version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !after(version, p.version) {
		return
	}
	p.version = version
	for c := range p.waiting {
		if !after(c.version, version) {
			delete(p.waiting, c)
			c.arrive()
		}
	}
}

// removed notes that the engine has dropped something.
func (p *position) removed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dropped != nil {
		close(p.dropped)
		p.dropped = nil
	}
}

// removal is closed when the engine drops something the next time.
func (p *position) removal() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dropped == nil {
		p.dropped = make(chan struct{})
	}
	return p.dropped
}

// at is the last version that the watch brought.
func (p *position) at() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.version
}

// await returns once the watch has brought this version.
func (p *position) await(ctx context.Context, version string) error {
	c := newVersionWaiter(version, p)
	defer c.stop()
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the watch of %s to reach version %s: %w", p.resource, version, context.Cause(ctx))
	}
}

// versionWaiter waits until some watches have reached a version.
type versionWaiter struct {
	version   string
	positions []*position
	behind    atomic.Int64  // how many have not
	done      chan struct{} // closed when all have
}

// newVersionWaiter begins to wait for a version. The caller stops it when it does not wait any more.
func newVersionWaiter(version string, positions ...*position) *versionWaiter {
	c := &versionWaiter{version: version, positions: positions, done: make(chan struct{})}
	c.behind.Store(int64(len(positions)) + 1) // itself: it is not done before all were looked at
	for _, p := range positions {
		p.mu.Lock()
		if after(version, p.version) {
			p.waiting[c] = struct{}{}
		} else {
			c.arrive()
		}
		p.mu.Unlock()
	}
	c.arrive()
	return c
}

func (c *versionWaiter) arrive() {
	if c.behind.Add(-1) == 0 {
		close(c.done)
	}
}

func (c *versionWaiter) stop() {
	for _, p := range c.positions {
		p.mu.Lock()
		delete(p.waiting, c)
		p.mu.Unlock()
	}
}

package revisions

import (
	"context"
	"fmt"
)

// CatchUp returns once every write before the call has been taken. If one will never be, it says why.
func (f *Follower[F]) CatchUp(ctx context.Context) error {
	f.mu.Lock()
	gap := f.gap
	f.mu.Unlock()
	if gap != nil {
		return gap
	}
	newest, err := f.newest(ctx)
	if err != nil {
		return err
	}
	var seen Revision
	err = f.Await(ctx, func() bool {
		seen = f.upTo
		return seen >= newest
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("await resource version %s, having seen %s: %w", newest, seen, err)
	}
	return err
}

// Await returns once something is so, at a moment at which all changes of a revision have been taken. It fails if the
// context ends before, or if changes have been lost.
func (f *Follower[F]) Await(ctx context.Context, so func() bool) error {
	for {
		f.mu.Lock()
		is, gap, changed := so(), f.gap, f.changed
		f.mu.Unlock()
		switch {
		case is:
			return nil
		case gap != nil:
			return gap
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// View gives a look at what was taken, up to which revision.
func (f *Follower[F]) View(look func(upTo Revision)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	look(f.upTo)
}

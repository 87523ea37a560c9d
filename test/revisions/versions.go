package revisions

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// ErrBeforeStart says that only what was deleted before the start can have been stored under a key before.
var ErrBeforeStart = errors.New("nothing is known of what was deleted before the start")

// Versions calls look with each value that was stored under a key up to a revision, which the follower has taken. It begins with the
// newest, also of keys of no kind that is followed, and ends when look returns false. An error says why older values may be missing.
func (f *Follower[F]) Versions(ctx context.Context, key string, upTo Revision, look func(value []byte, at Revision) bool) error {
	for upTo > 0 {
		found, err := f.client.Get(ctx, key, clientv3.WithRev(int64(upTo)))
		if err != nil {
			return fmt.Errorf("read %s as of resource version %s: %w", key, upTo, err)
		}
		if len(found.Kvs) == 0 {
			deleted, known := f.lastDeleted(key, upTo)
			if !known {
				return ErrBeforeStart
			}
			upTo = deleted - 1
			continue
		}
		written := Revision(found.Kvs[0].ModRevision)
		if !look(found.Kvs[0].Value, written) {
			return nil
		}
		upTo = written - 1
	}
	return nil
}

// lastDeleted returns the last revision, up to one, that deleted a key, if there was one since the start.
func (f *Follower[F]) lastDeleted(key string, upTo Revision) (Revision, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var last Revision
	for _, deleted := range f.deletions[key] {
		if deleted <= upTo {
			last = max(last, deleted)
		}
	}
	return last, last > 0
}

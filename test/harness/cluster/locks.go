package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// maxOwnClusters is how many clusters of single tests run at a time on this machine: each takes half a gigabyte, two processors for
// seconds while it starts, and a twentieth of one while nothing happens.
const maxOwnClusters = 2

// claimStart waits until no other test, in whichever process, starts a cluster. Several at a time would take longer each, and
// on a slow machine too long.
func claimStart() (release func(), err error) {
	return lock("start", 0)
}

// claimOwn waits until fewer than maxOwnClusters tests, in whichever processes, have a cluster for themselves.
func claimOwn(ctx context.Context) (release func(), err error) {
	for {
		for i := range maxOwnClusters {
			release, err := lock(fmt.Sprintf("own-%d", i), syscall.LOCK_NB)
			if !errors.Is(err, syscall.EWOULDBLOCK) {
				return release, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(longestPause):
		}
	}
}

// lock takes a lock that all processes of this user share. It ends with the process, at the latest.
func lock(name string, how int) (release func(), err error) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("podsequence-test-%s-%d.lock", name, os.Getuid()))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|how); err != nil {
		return nil, errors.Join(fmt.Errorf("take lock: %w", err), file.Close())
	}
	return func() { _ = file.Close() }, nil // which gives it back
}

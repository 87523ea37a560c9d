package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sync/errgroup"
)

// ErrNoCluster says that no cluster has been started in a directory, or that it has been stopped.
var ErrNoCluster = errors.New("no sandbox in this directory")

// Stop ends every process recorded in a directory, even if another process started it, and removes everything but the logs. It works
// on what a crashed start has left, too. If there is nothing to stop it returns ErrNoCluster.
func Stop(ctx context.Context, dir string) error {
	l := layout(dir)
	if _, err := os.Stat(l.state()); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("stop %s: %w", dir, ErrNoCluster)
	}
	release, err := l.claim()
	if err != nil {
		return err
	}
	defer release()
	return l.takeDown(ctx)
}

// each does the same to all processes at a time. Those that have ended already are no error.
func each(processes []*process, do func(*process) error) error {
	var group errgroup.Group
	for _, p := range processes {
		group.Go(func() error {
			if err := do(p); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return fmt.Errorf("stop sandbox: %w", err)
			}
			return nil
		})
	}
	return group.Wait()
}

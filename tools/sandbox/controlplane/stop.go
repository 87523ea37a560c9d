package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"example.com/podsequence/tools/sandbox/realnode"
)

// ErrNoCluster says that no cluster has been started in a directory, or that it has been stopped.
var ErrNoCluster = errors.New("no sandbox in this directory")

// Stop ends every process recorded in a directory, whoever started it, and removes everything but the logs. It works
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

// takeDown expects the caller to have claimed the directory.
func (l layout) takeDown(ctx context.Context) error {
	processes, err := loadProcesses(l)
	if err != nil {
		return err
	}
	// Ours get the chance to end in order, as their users see them do it. What runs real nodes removes what is left of them.
	ours := []string{PodSequenceScheduler, PodSequenceController, RealNodes}
	err = each(processes, func(p *process) error {
		if slices.Contains(ours, p.Name) {
			return p.terminate(ctx, stopGrace)
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Whatever the others have yet to do, it is for data that is about to be removed.
	err = each(processes, func(p *process) error { return p.kill(ctx) })
	if err != nil {
		return err
	}
	if err := realnode.RemoveCgroup(realnode.CgroupName(string(l))); err != nil {
		return fmt.Errorf("stop sandbox: %w", err)
	}
	return l.removeState()
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

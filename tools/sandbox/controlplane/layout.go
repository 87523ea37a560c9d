package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"example.com/podsequence/tools/sandbox/realnode"
)

// layout names the files of a cluster's directory:
//
//	kubeconfig    of the administrator
//	logs/         one file a component; outlives the cluster
//	real-nodes/   the disks of real nodes, a directory each; what they logged outlives the cluster
//	state/        everything that ends with the cluster
//	sandbox.lock  held while a cluster is being started or stopped, and the mark of our directories
type layout string

func (l layout) kubeconfig() string { return filepath.Join(string(l), "kubeconfig") }

func (l layout) lock() string { return filepath.Join(string(l), "sandbox.lock") }

func (l layout) logs() string { return filepath.Join(string(l), "logs") }

func (l layout) log(component string) string { return filepath.Join(l.logs(), component+".log") }

func (l layout) auditLog() string { return filepath.Join(l.logs(), "audit.log") }

func (l layout) realNodes() string { return filepath.Join(string(l), "real-nodes") }

func (l layout) state() string { return filepath.Join(string(l), "state") }

// processes holds a record for every component that has been started.
func (l layout) processes() string { return filepath.Join(l.state(), "processes") }

func (l layout) etcdData() string { return filepath.Join(l.state(), "etcd") }

// pki names a file with a certificate or key.
func (l layout) pki(file string) string { return filepath.Join(l.state(), "pki", file) }

// config names a configuration file of a component.
func (l layout) config(file string) string { return filepath.Join(l.state(), "config", file) }

// componentKubeconfig is the kubeconfig that a component runs with.
func (l layout) componentKubeconfig(component string) string {
	return l.config(component + ".kubeconfig")
}

// claim makes sure that the directory is ours to write to and to clean, and that no other process is starting or
// stopping a cluster in it. The caller calls release when done.
func (l layout) claim() (release func(), err error) {
	if err := os.MkdirAll(string(l), 0o755); err != nil {
		return nil, fmt.Errorf("create directory of the cluster: %w", err)
	}
	entries, err := os.ReadDir(string(l))
	if err != nil {
		return nil, fmt.Errorf("read directory of the cluster: %w", err)
	}
	if _, err := os.Stat(l.lock()); errors.Is(err, fs.ErrNotExist) && len(entries) > 0 {
		return nil, fmt.Errorf("directory %s holds files that are not a sandbox's: choose another one", l)
	}
	return lockFile(l.lock())
}

// reset removes what an earlier cluster left, its logs included, and creates the directories for a new one.
func (l layout) reset() error {
	if err := l.removeState(); err != nil {
		return err
	}
	for _, dir := range []string{l.logs(), l.realNodes()} {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove logs of an earlier cluster: %w", err)
		}
	}
	for _, dir := range []string{l.logs(), l.processes(), l.pki(""), l.config("")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("create directory of the cluster: %w", err)
		}
	}
	return nil
}

// removeState forgets the cluster but for its logs.
func (l layout) removeState() error {
	paths, err := filepath.Glob(filepath.Join(l.realNodes(), "*", "*"))
	if err != nil {
		return fmt.Errorf("find disks of real nodes: %w", err)
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return filepath.Base(path) == "log" })
	for _, path := range append(paths, l.kubeconfig(), l.state()) {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove state of the cluster: %w", err)
		}
	}
	return nil
}

func (l layout) record(name string) string {
	return filepath.Join(l.processes(), name+".json")
}

// refuseRunning protects a cluster that is up, wholly or in part.
func (l layout) refuseRunning() error {
	processes, err := loadProcesses(l)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(processes, (*process).alive) {
		return fmt.Errorf("a sandbox is running in %s: use it, take it down with \"sandbox down\", or choose another directory", l)
	}
	return nil
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

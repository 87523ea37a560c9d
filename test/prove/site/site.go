// Package site is where worlds are played: a real control plane with two instances of each of our programs, which elect
// leaders and are started again when they end, as in production, and with a proxy between them and the API server.
package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// electionTerms are shorter than those of production, so that a fail-over takes a few seconds of a seed's time.
var electionTerms = []string{"--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=6s", "--leader-elect-retry-period=1s"}

// Options say what kind of site to start.
type Options struct {
	// Instances of each program of ours. More than one elect leaders.
	Instances int
	// RealNodes is the number of nodes with kubelets and containers.
	RealNodes int
}

// startTimeout is how long a component of the control plane may take to be healthy after a fault.
const startTimeout = 3 * time.Minute

// Site is a control plane and our programs.
type Site struct {
	*cluster.Cluster
	proxy    *proxy
	programs map[string]*program
	names    []string // of programs, in the order in which they were started
	stopped  map[string]time.Time
	second   *lagging // nil while there is none
	trips    map[string]Trip
	removed  map[string]*apiextensionsv1.CustomResourceDefinition

	bin   string // the directory of our programs
	ahead string // that of those whose clocks are ahead; empty until they are built

	realNodes []string
}

// Start starts everything. Nodes come with worlds.
func Start(ctx context.Context, o Options) (_ *Site, err error) {
	options := controlplane.Options{Nodes: 1, RealNodes: o.RealNodes, LeaderElection: o.Instances > 1}
	if options.LeaderElection {
		options.ExtraArgs = map[string][]string{
			controlplane.PodSequenceScheduler: electionTerms, controlplane.PodSequenceController: electionTerms,
		}
	}
	s := &Site{programs: map[string]*program{}, stopped: map[string]time.Time{}, trips: map[string]Trip{},
		removed: map[string]*apiextensionsv1.CustomResourceDefinition{}, realNodes: RealNodeNames(o.RealNodes)}
	if s.bin, err = controlplane.FindBin(); err != nil {
		return nil, err
	}
	if s.Cluster, err = cluster.Start(ctx, options); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close(false))
		}
	}()
	if s.proxy, err = startProxy(s.Config(), func(instance string) { s.programs[instance].signal(syscall.SIGKILL) }); err != nil {
		return nil, err
	}
	for _, name := range []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController} {
		if err := s.replicate(ctx, name, o.Instances); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// replicate replaces the cluster's own instance of a program by others behind the proxy.
func (s *Site) replicate(ctx context.Context, name string, instances int) error {
	args, err := s.recordedArgs(name)
	if err != nil {
		return err
	}
	if err := s.Kill(ctx, name); err != nil {
		return err
	}
	for i := range instances {
		p := &program{
			name: fmt.Sprintf("%s-%d", name, i+1), dir: s.bin, file: name,
			log: filepath.Join(filepath.Dir(s.Log(name)), fmt.Sprintf("%s-%d.log", name, i+1)),
		}
		if p.args, p.url, err = s.argsBehindProxy(p.name, args); err != nil {
			return err
		}
		s.programs[p.name] = p
		s.names = append(s.names, p.name)
		p.begin()
	}
	return nil
}

// Close ends everything. It removes the logs if nobody needs them.
func (s *Site) Close(clean bool) error {
	s.StopSecondAPIServer()
	for _, p := range s.programs {
		p.end()
	}
	if s.proxy != nil {
		s.proxy.close()
	}
	return s.StopAndClean(clean)
}

// KillProcess ends a process by SIGKILL. It stays down until StartProcess.
func (s *Site) KillProcess(ctx context.Context, name string) error {
	if p, ours := s.programs[name]; ours {
		p.setDown(true)
		return nil
	}
	if err := s.Kill(ctx, name); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// StartProcess starts a process that was killed, and returns when it is healthy, or at once for a program of ours.
func (s *Site) StartProcess(ctx context.Context, name string) error {
	if p, ours := s.programs[name]; ours {
		p.setDown(false)
		return nil
	}
	if _, err := s.PID(name); err == nil {
		return nil // it is running
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return s.StartComponent(ctx, name)
}

// StopProcess stops a process in its tracks, by SIGSTOP.
func (s *Site) StopProcess(name string) error {
	if _, already := s.stopped[name]; already {
		return nil
	}
	s.stopped[name] = time.Now()
	return s.signal(name, syscall.SIGSTOP)
}

// ContinueProcess continues a process that was stopped, and returns when that was. It is zero if it was not.
func (s *Site) ContinueProcess(name string) (stopped time.Time, err error) {
	stopped = s.stopped[name]
	delete(s.stopped, name)
	if stopped.IsZero() {
		return stopped, nil
	}
	return stopped, s.signal(name, syscall.SIGCONT)
}

// Stopped are the processes that are stopped now.
func (s *Site) Stopped() []string {
	var names []string
	for name := range s.stopped {
		names = append(names, name)
	}
	return names
}

func (s *Site) signal(name string, signal syscall.Signal) error {
	if p, ours := s.programs[name]; ours {
		p.signal(signal)
		return nil
	}
	if err := s.Signal(name, signal); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Delay delays the watches of a resource by our programs from now on.
func (s *Site) Delay(resource string, by time.Duration) { s.proxy.setDelay(resource, by) }

// Cut breaks the watches of a resource by our programs.
func (s *Site) Cut(resource string) { s.proxy.cut(resource) }

// Refuse answers requests of our programs with an HTTP status from now on, 0 for none. Leases are left out.
func (s *Site) Refuse(code int) { s.proxy.setRefusal(code) }

// KillAtWrite kills instances that make a kind of write, just before the API server gets it or just after it was done. They are
// restarted at once.
func (s *Site) KillAtWrite(a Ambush) { s.proxy.setAmbush(&a) }

// EndAmbush returns how many instances the ambush has killed.
func (s *Site) EndAmbush() int { return s.proxy.setAmbush(nil) }

// Writes are the kinds of writes that our programs have made.
func (s *Site) Writes() []Write { return s.proxy.made() }

// Recover ends all faults, but for definitions that are gone, and returns when the control plane is healthy.
func (s *Site) Recover(ctx context.Context) error {
	s.proxy.allow()
	for _, name := range []string{controlplane.Etcd, controlplane.APIServer, controlplane.ControllerManager, controlplane.Scheduler, controlplane.Kwok} {
		if err := s.StartProcess(ctx, name); err != nil {
			return err
		}
	}
	for _, p := range s.programs {
		p.runFrom(s.bin)
		p.setDown(false)
	}
	return nil
}

// BuildTenMinutesAhead builds our programs so that their own clocks are ten minutes ahead, unless that was done before.
func (s *Site) BuildTenMinutesAhead(ctx context.Context) error {
	if s.ahead != "" {
		return nil
	}
	dir := filepath.Join(s.Dir, "ahead")
	for _, program := range []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController} {
		if err := cluster.BuildTenMinutesAhead(ctx, dir, program); err != nil {
			return err
		}
	}
	s.ahead = dir
	return nil
}

// SetClock starts an instance of ours again, whose own clock is then ten minutes ahead, or right. BuildTenMinutesAhead comes before.
func (s *Site) SetClock(instance string, ahead bool) {
	dir := s.bin
	if ahead {
		dir = s.ahead
	}
	s.programs[instance].runFrom(dir)
}

// Ours reports whether a process is an instance of one of our programs.
func (s *Site) Ours(name string) bool { return s.programs[name] != nil }

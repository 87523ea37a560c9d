// Package site is where worlds are played: a real control plane with two instances of each of our programs, which elect
// leaders and are started again when they end, as in production, and with a proxy between them and the API server.
package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
	"example.com/podsequence/tools/sandbox/realnode"
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
	*definitions
	proxy    *proxy
	programs map[string]*program
	names    []string // of programs, in the order in which they were started
	stopped  map[string]time.Time
	second   *lagging // nil while there is none
	trips    map[string]Trip

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
		realNodes: RealNodeNames(o.RealNodes)}
	if s.bin, err = controlplane.FindBin(); err != nil {
		return nil, err
	}
	if s.Cluster, err = cluster.Start(ctx, options); err != nil {
		return nil, err
	}
	s.definitions = &definitions{api: s.API, removed: map[string]*apiextensionsv1.CustomResourceDefinition{}}
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
	args, err := recordedArgs(s.Dir, name)
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
		if p.args, p.url, err = s.proxy.argsBehind(p.name, args); err != nil {
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

// StartSecondAPIServer starts an API server that can lag, if there is none, and returns when it is healthy. StopSecondAPIServer ends it.
func (s *Site) StartSecondAPIServer(ctx context.Context) (err error) {
	if s.second == nil {
		s.second, err = startLagging(ctx, s)
	}
	return err
}

// StopSecondAPIServer points all instances at the first API server and ends the second.
func (s *Site) StopSecondAPIServer() {
	if s.second == nil {
		return
	}
	for instance := range s.trips {
		s.Return(instance)
	}
	s.second.end()
	s.second = nil
}

// ServeStale sends an instance of ours back in time: its watches break, and the second API server serves it, whose watches lag this
// much from now on.
func (s *Site) ServeStale(instance string, lag time.Duration) error {
	if s.second == nil {
		return errors.New("travel: there is no second API server")
	}
	if _, already := s.trips[instance]; !already {
		s.trips[instance] = Trip{Began: time.Now(), Lag: lag}
	}
	s.second.etcd.setLag(lag)
	s.proxy.route(instance, s.second.url)
	return nil
}

// Return ends the trip of an instance, and returns what it was. Its Lag is zero if there was none.
func (s *Site) Return(instance string) Trip {
	trip := s.trips[instance]
	delete(s.trips, instance)
	s.proxy.route(instance, nil)
	return trip
}

// Travelling are the instances that are served by the second API server.
func (s *Site) Travelling() []string {
	var names []string
	for name := range s.trips {
		names = append(names, name)
	}
	return names
}

// RealNodes are the names of the nodes with kubelets and containers.
func (s *Site) RealNodes() []string { return s.realNodes }

// flushed counts pods that a scheduler scheduled after no event had, for minutes.
const flushed = "scheduler_pod_scheduled_after_flush_total"

// remembered are the metrics of our programs that are 0 when there are no pods of ours and no sequences.
var remembered = []string{
	"podsequence_held_pods", "podsequence_sequences", "podsequence_groups", "podsequence_degraded_sequences", "podsequence_stalled_sequences",
	"scheduler_pending_pods",
}

// scrapeTimeout is how long a program may take to say what it counted.
const scrapeTimeout = 5 * time.Second

// Rescued counts the pods that our schedulers scheduled only because they look at forgotten pods every five minutes. It is 0 for
// a scheduler that does not answer.
func (s *Site) Rescued(ctx context.Context) (count int) {
	for _, name := range s.names {
		if strings.HasPrefix(name, controlplane.PodSequenceScheduler) {
			count += s.programs[name].counted(ctx, s.Config(), flushed)
		}
	}
	return count
}

// Remembered says what our programs still know of, though nothing is left of it.
func (s *Site) Remembered(ctx context.Context) (found []string) {
	for _, name := range s.names {
		for _, metric := range remembered {
			if count := s.programs[name].counted(ctx, s.Config(), metric); count > 0 {
				found = append(found, fmt.Sprintf("%s: %s is %d", name, metric, count))
			}
		}
	}
	return found
}

// RealNodeNames are the names of so many real nodes.
func RealNodeNames(count int) (names []string) {
	for i := range count {
		names = append(names, realnode.NodeName(i))
	}
	return names
}

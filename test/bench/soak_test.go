package bench

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

var (
	soakFor   = flag.Duration("soak", 6*time.Hour, "for how long BenchmarkSoak measures, such as 1h")
	soakNodes = flag.Int("soak-nodes", 5000, "`number` of nodes of BenchmarkSoak")
	soakPods  = flag.Int("soak-pods", 5000, "`number` of pods of BenchmarkSoak")
)

// soakRow is where the soak stands in the table, after the rows.
const soakRow = 11

// electionTerms are those of a trial, in which a change of leaders must not take long.
var electionTerms = []string{"--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=6s", "--leader-elect-retry-period=1s"}

// BenchmarkSoak rolls out applications and reboots nodes at a load of less than half the machine, and checks that the memory of our
// programs, and the time in which one tier follows the other, stay what they were. `make soak` runs it.
//
// A program ends when it loses its lease, so each change of leaders begins with a new process. What the reader wants to know is whether
// a leader that lives for long grows. So the leaders change several times before the time that is measured, and several times after it,
// and during it there is one leader of each program. Everything else goes on all the time.
//
// SIGINT or SIGTERM ends what is measured early: the result then says for how long that was.
func BenchmarkSoak(b *testing.B) {
	s := startSoak(b)
	s.moveIn()
	s.beginEvents()
	s.changeLeaders()
	s.settle()
	s.measure(*soakFor)
	if !s.cutShort {
		s.changeLeaders()
	}
	s.endEvents()
	r := s.row().conclude(b, s.measured())
	printTable(os.Stdout, []result{r}, !testing.Short())
	r.keep(b)
}

// soak is a cluster with simulated kubelets and all components, and a standby of each of our programs, as users have it.
type soak struct {
	*site
	// interrupted is done when the user wants no more.
	interrupted  context.Context
	applications []string
	storageNodes []string
	programs     []*pair
	probes       *probes
	// failed is closed when one of the events has failed, which endEvents says.
	failed    <-chan struct{}
	endEvents func()

	// What is measured, from began on.
	began time.Time
	long  time.Duration
	// cutShort says that the user wanted no more before its end.
	cutShort bool
	memory   map[string][]point // MiB of each program's leader, by minutes
	load     load
	changes  []float64 // seconds in which nothing was scheduled

	// What has happened. Only who makes it happen writes it, until endEvents.
	rollouts, reboots, leaders int
	rolledOut                  time.Time // the last one
	order                      order

	lock    sync.Mutex
	latency []timed
}

func startSoak(b *testing.B) *soak {
	b.Helper()
	interrupted, ignore := signal.NotifyContext(b.Context(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(interrupted, ignore) // a second signal ends the process
	options := controlplane.Options{Nodes: *soakNodes, LeaderElection: true}
	if testing.Short() {
		options.ExtraArgs = map[string][]string{ourScheduler: electionTerms, ourProgram: electionTerms}
	}
	c, err := cluster.Start(b.Context(), options)
	require.NoError(b, err)
	s := &soak{site: &site{Cluster: c, b: b, ctx: b.Context()}, interrupted: interrupted, memory: map[string][]point{}}
	s.core = s.clientOf("soak")
	b.Cleanup(s.close)
	s.startPairs()
	return s
}

// unlessInterrupted ends the benchmark if the user wants no more before there is anything to say.
func (s *soak) unlessInterrupted() {
	s.b.Helper()
	if s.long == 0 {
		require.NoError(s.b, s.interrupted.Err(), "interrupted before anything was measured: nothing is written")
	}
}

// beginEvents begins all that goes on until endEvents.
func (s *soak) beginEvents() {
	ctx, stop := context.WithCancel(s.ctx)
	events, ctx := errgroup.WithContext(ctx)
	events.Go(func() error { return s.judge(ctx) })
	events.Go(func() error { return every(ctx, rolloutEvery, s.rollOut) })
	events.Go(func() error { return every(ctx, inDuration(rebootEvery, shortRebootEvery), s.reboot) })
	events.Go(func() error {
		return every(ctx, probeEvery, func(ctx context.Context, number int) error {
			events.Go(func() error { return unlessOver(ctx, s.probe(ctx, number)) })
			return nil
		})
	})
	s.failed = ctx.Done()
	s.endEvents = func() {
		s.b.Helper()
		stop()
		require.NoError(s.b, events.Wait())
	}
}

// every does something at an interval, from one interval on, until the context ends or it fails.
func every(ctx context.Context, interval time.Duration, do func(ctx context.Context, number int) error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for number := 0; ; number++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := do(ctx, number); err != nil {
			return unlessOver(ctx, err)
		}
	}
}

// unlessOver leaves out an error that comes of the end of the context.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func inDuration(full, short time.Duration) time.Duration {
	if testing.Short() {
		return short
	}
	return full
}

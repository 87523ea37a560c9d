package integration

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/wait"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// Both programs end when they cannot renew their lease, as the stock scheduler does: whoever goes on without it might act
// beside another leader. In a cluster the kubelet starts them again; the sandbox does not, so the tests do.

func TestAPIServerUnreachableForLongerThanALease(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	env := electingCluster(t)
	kubelet := env.startKubelet(t, controlplane.PodSequenceScheduler, controlplane.PodSequenceController)
	for _, outage := range []struct {
		sentence   string
		begin, end func(ctx context.Context) error
	}{
		{
			sentence: "it is there but does not answer",
			begin:    func(context.Context) error { return env.Signal(controlplane.APIServer, syscall.SIGSTOP) },
			end:      func(context.Context) error { return env.Signal(controlplane.APIServer, syscall.SIGCONT) },
		},
		{
			sentence: "it is gone",
			begin:    func(ctx context.Context) error { return env.Kill(ctx, controlplane.APIServer) },
			end:      func(ctx context.Context) error { return env.StartComponent(ctx, controlplane.APIServer) },
		},
	} {
		t.Run(outage.sentence, func(t *testing.T) {
			s := newStoryIn(t, env)
			// It keeps the second tier waiting until after the outage.
			s.createPods(s.pod("slow").Label("tier", "one"))
			s.startMany(100)
			s.awaitBound("slow")

			before := kubelet.restarts()
			require.NoError(t, outage.begin(s.Ctx))
			for program := range before {
				s.Await(program+" to give up", func() bool { return kubelet.restarts()[program] > before[program] })
			}
			require.NoError(t, outage.end(s.Ctx))
			s.restartKubelets()

			s.expectHeld("two-0", "two-1", "two-2", "last")
			s.makeReady("slow")
			s.awaitManyCompleted()
		})
	}
}

// A leader that is cut off ends, and leaves the work to one that is not.
func TestLeaderIsCutOff(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	env := electingCluster(t)
	for _, program := range []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController} {
		t.Run(program, func(t *testing.T) {
			s := newStoryIn(t, env)
			require.NoError(t, env.Kill(s.Ctx, program))
			ended := s.leaseHolder(program)
			proxy := env.startProxy(t)
			leader := env.RunInstance(t, program, proxy.through(t))
			cutOff := s.awaitLeader(program, ended) // which is behind the proxy
			standby := env.RunInstance(t, program, nil)

			s.Create(s.threeTiers().Obj())
			s.createPods(s.pod("db"), s.gated("app").SchedulerName(stockScheduler), s.pod("web"))
			s.awaitBound("db")
			s.expectHeld("app", "web")

			proxy.set(func(w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(http.StatusServiceUnavailable)
				return true
			})
			exit := make(chan error, 1)
			go func() { exit <- leader.Wait() }()
			select {
			case err := <-exit:
				assert.Error(t, err, "it gave up its work as if it was done")
			case <-time.After(cluster.Patience):
				require.FailNow(t, "the leader goes on without its lease", "its log is %s", leader.Log)
			}
			s.awaitLeader(program, cutOff)
			s.startInOrder()

			// The next test finds the cluster's own instance.
			require.NoError(t, standby.Process.Kill())
			require.NoError(t, env.StartComponent(s.Ctx, program))
		})
	}
}

// kubelet starts programs again when they end.
type kubelet struct {
	counts map[string]*atomic.Int32
}

// startKubelet looks after programs until the test ends.
func (e *environment) startKubelet(t *testing.T, programs ...string) *kubelet {
	ctx, stop := context.WithCancel(context.Background())
	k := &kubelet{counts: map[string]*atomic.Int32{}}
	var running sync.WaitGroup
	for _, program := range programs {
		count := &atomic.Int32{}
		k.counts[program] = count
		running.Go(func() {
			for e.awaitEnd(ctx, program) == nil {
				count.Add(1)
				// It ends before it is healthy while the API server cannot be reached: then the next turn is due at once.
				_ = e.StartComponent(ctx, program)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return k
}

// awaitEnd returns when a program of ours does not run any more, or an error when the context has ended.
func (e *environment) awaitEnd(ctx context.Context, program string) error {
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		_, err := e.PID(program)
		return errors.Is(err, os.ErrProcessDone), nil
	})
}

// restarts counts, by program.
func (k *kubelet) restarts() map[string]int32 {
	counts := map[string]int32{}
	for program, count := range k.counts {
		counts[program] = count.Load()
	}
	return counts
}

package integration

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/test/ordercheck"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// Terms with a longer deadline than those of production, and a lease that is hardly longer: other tests run beside these.
var (
	schedulerTerms  = []string{"--leader-elect-lease-duration=20s", "--leader-elect-renew-deadline=16s", "--leader-elect-retry-period=1s"}
	controllerTerms = schedulerTerms
)

func electingCluster(t testing.TB) *environment {
	return startCluster(t, controlplane.Options{
		AuditLog: true, LeaderElection: true,
		ExtraArgs: map[string][]string{
			controlplane.PodSequenceScheduler:  schedulerTerms,
			controlplane.PodSequenceController: controllerTerms,
		},
	})
}

// leaseHolder is who holds the lease of a program, or nobody.
func (s *story) leaseHolder(program string) string {
	s.Helper()
	lease := &coordinationv1.Lease{}
	key := types.NamespacedName{Namespace: "podsequence-system", Name: program}
	if program == controlplane.PodSequenceScheduler && s.env.scheduler == corev1.DefaultSchedulerName {
		key = types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: "kube-scheduler"} // it takes that one's place
	}
	if err := s.API.Get(s.Ctx, key, lease); err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// awaitLeader waits until a program has a leader that is another than this one.
func (s *story) awaitLeader(program, before string) (leader string) {
	s.Helper()
	s.Await("another leader of "+program, func() bool {
		leader = s.leaseHolder(program)
		return leader != "" && leader != before
	})
	return leader
}

func isLeases(r *http.Request) bool { return strings.Contains(r.URL.Path, "/leases/") }

func TestFailOver(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	env := electingCluster(t)
	for _, program := range []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController} {
		t.Run("the standby of "+program+" writes nothing, and takes over when the leader is killed", func(t *testing.T) {
			s := newStoryIn(t, env)
			leader := s.awaitLeader(program, "")
			proxy := env.startProxy(t)
			standby := env.RunInstance(t, program, proxy.through(t))

			s.Create(s.threeTiers().Obj())
			s.createPods(s.pod("db"), s.gated("app").SchedulerName(stockScheduler), s.pod("web"))
			s.awaitBound("db")
			s.expectHeld("app", "web")
			before := proxy.asked(isLeases)
			s.Await("the standby to run for the lease", func() bool { return proxy.asked(isLeases) > before+1 })
			assert.Equal(t, leader, s.leaseHolder(program))
			assert.Empty(t, proxy.written(), "a standby wrote")
			assert.Zero(t, proxy.asked(func(r *http.Request) bool { return isSequences(r) || strings.HasSuffix(r.URL.Path, "/pods") }),
				"a standby watched")

			require.NoError(t, env.Kill(s.Ctx, program))
			s.makeReady("db")
			s.awaitBound("app")
			s.expectHeld("web")
			s.makeReady("app")
			s.awaitBound("web")
			second := s.leaseHolder(program)
			assert.NotEqual(t, leader, second)

			// The next test finds one instance of each program, and it leads.
			require.NoError(t, standby.Process.Kill())
			require.NoError(t, env.StartComponent(s.Ctx, program))
			s.awaitLeader(program, second)
		})
	}
	t.Run("a scheduler that was stopped past its lease lets nothing go too early when it goes on", func(t *testing.T) {
		s := newStoryIn(t, env)
		s.Create(s.threeTiers().Obj())
		s.createPods(s.pod("db"), s.pod("app"), s.gated("web"))
		s.awaitBound("db")
		s.expectHeld("app", "web")
		leader := s.awaitLeader(controlplane.PodSequenceScheduler, "")

		stopped := time.Now()
		require.NoError(t, env.Signal(controlplane.PodSequenceScheduler, syscall.SIGSTOP))
		env.RunInstance(t, controlplane.PodSequenceScheduler, nil)
		s.awaitLeader(controlplane.PodSequenceScheduler, leader)
		require.NoError(t, env.Signal(controlplane.PodSequenceScheduler, syscall.SIGCONT))
		env.referee.SchedulerStopped(ordercheck.Stop{From: stopped, To: time.Now()})
		s.expectHeld("app", "web")
		s.makeReady("db")
		s.awaitBound("app")
		s.expectHeld("web")
		s.makeReady("app")
		s.awaitBound("web")
	})
}

package integration

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// BenchmarkRelease measures from the moment at which the last pod that 1,000 pods wait for is seen to be ready to the
// moment at which the last of them is seen to be bound, and counts the requests that each took from its creation on, the
// one that tells what it waits for included, and those that the API server's priority and fairness put off. Each run has a
// cluster of its own. Run it with
//
//	go test -run '^$' -bench Release -benchtime 3x -timeout 30m ./test/integration/
func BenchmarkRelease(b *testing.B) {
	const pods = 1000
	for name, makePod := range map[string]func(*story, string) *st.PodWrapper{
		"gate-less":       func(s *story, name string) *st.PodWrapper { return s.pod(name) },
		"gated":           func(s *story, name string) *st.PodWrapper { return s.gated(name) },
		"stock-scheduler": func(s *story, name string) *st.PodWrapper { return s.gated(name).SchedulerName(stockScheduler) },
	} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			writes, putOff := 0, 0.0
			for b.Loop() {
				env := startForBenchmark(b, controlplane.Options{AuditLog: true})
				s := newBenchmark(b, env)
				s.Create(s.sequence("shop").Pods("Database", "db").Label("Application", "tier", "many").Obj())
				s.createPods(s.pod("db"))
				s.createAtOnce(pods, func(i int) *st.PodWrapper { return makePod(s, fmt.Sprintf("app-%d", i)).Label("tier", "many") })
				s.awaitTelling(pods)
				took = append(took, s.readyToAllBound(pods))
				writes += s.countWrites("app-")
				rejected := s.Cluster.Metric(s, controlplane.APIServer, "apiserver_flowcontrol_rejected_requests_total")
				putOff += rejected
				b.Logf("all were bound after %s, %.0f requests were put off", took[len(took)-1], rejected)
				require.NoError(b, env.StopAndClean(true))
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2].Seconds(), "s/median")
			b.ReportMetric(took[len(took)-1].Seconds(), "s/worst")
			b.ReportMetric(float64(writes)/float64(len(took)*pods), "writes/pod")
			b.ReportMetric(putOff/float64(len(took)*pods), "429s/pod")
		})
	}
}

// BenchmarkFailOver measures from the moment at which a leading scheduler is killed to the moment at which a pod created
// right after that is seen to be bound by its standby. Run it with
//
//	go test -run '^$' -bench FailOver -benchtime 20x -timeout 30m ./test/integration/
func BenchmarkFailOver(b *testing.B) {
	for name, terms := range map[string][]string{"shipped-lease": nil, "short-lease": schedulerTerms} {
		b.Run(name, func(b *testing.B) {
			env := startCluster(b, controlplane.Options{LeaderElection: true, ExtraArgs: map[string][]string{controlplane.PodSequenceScheduler: terms}})
			s := newBenchmark(b, env)
			s.awaitLeader(controlplane.PodSequenceScheduler, "")
			kill := func() { require.NoError(b, env.Kill(s.Ctx, controlplane.PodSequenceScheduler)) }
			var took []time.Duration
			for b.Loop() {
				standby := env.RunInstance(b, controlplane.PodSequenceScheduler, nil)
				s.Await("the standby to wait for the lease", func() bool { return isUp(standby) })
				kill()
				begin := time.Now()
				name := fmt.Sprintf("after-%d", len(took))
				s.createPods(s.pod(name))
				s.awaitBound(name)
				took = append(took, time.Since(begin))
				kill = func() {
					require.NoError(b, standby.Process.Kill())
					_ = standby.Wait() // it was killed
				}
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2].Seconds(), "s/median")
			b.ReportMetric(took[len(took)-1].Seconds(), "s/worst")
		})
	}
}

// BenchmarkMemory measures what our programs take while they hold 10,000 pods, and when all of these are ready. Run it with
//
//	go test -run '^$' -bench Memory -benchtime 1x -timeout 30m ./test/integration/
func BenchmarkMemory(b *testing.B) {
	const pods = 10_000
	for b.Loop() {
		env := startForBenchmark(b, controlplane.Options{Nodes: 11})
		s := newBenchmark(b, env)
		s.measureMemory(b, "idle")
		s.Create(s.sequence("shop").Pods("Database", "db").Label("Application", "tier", "many").Obj())
		s.createPods(s.pod("db"))
		s.createAtOnce(pods, func(i int) *st.PodWrapper {
			return s.pod(fmt.Sprintf("app-%d", i)).Label("tier", "many").Annotation(cluster.ReadyAfter, "0s")
		})
		application := func() v1alpha1.GroupStatus {
			if groups := s.getSequence("shop").Status.Groups; len(groups) == 2 {
				return groups[1]
			}
			return v1alpha1.GroupStatus{}
		}
		s.awaitLong("all pods to be known", func() bool { return application().Expected == pods })
		s.measureMemory(b, "held")
		s.readyToAllBound(pods)
		s.awaitLong("all pods to be ready", func() bool { return application().Ready == pods })
		s.measureMemory(b, "completed")
		require.NoError(b, env.StopAndClean(true))
	}
}

// startForBenchmark starts a cluster that the benchmark stops by itself.
func startForBenchmark(b *testing.B, options controlplane.Options) *environment {
	b.Helper()
	c, err := cluster.Start(b.Context(), options)
	require.NoError(b, err)
	env, err := withReferee(c, false, 0)
	require.NoError(b, err)
	c.AtStop(func() error { env.referee.Stop(); return nil })
	return env
}

// newBenchmark is a story that the referee does not judge and that nobody cleans up after.
func newBenchmark(b *testing.B, env *environment) *story {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	b.Cleanup(cancel)
	env.referee.Stop()
	return &story{Story: &cluster.Story{TB: b, Cluster: env.Cluster, API: env.API, Ctx: ctx, Namespace: "default"}, env: env}
}

// awaitLong waits for what takes minutes.
func (s *story) awaitLong(what string, happened func() bool) {
	s.Helper()
	cluster.AwaitWithin(s, 10*time.Minute, what, happened)
}

// createAtOnce creates pods, many at a time.
func (s *story) createAtOnce(count int, makePod func(i int) *st.PodWrapper) {
	s.Helper()
	s.atOnce(count, func(i int) error { return s.API.Create(s.Ctx, makePod(i).Obj()) })
}

// atOnce does something so many times, many at a time.
func (s *story) atOnce(count int, do func(i int) error) {
	s.Helper()
	var doing errgroup.Group
	doing.SetLimit(16)
	for i := range count {
		doing.Go(func() error { return do(i) })
	}
	require.NoError(s, doing.Wait())
}

// awaitTelling waits until so many pods tell that they wait for a group. Past the first 100 of a namespace 10 a second are told to.
func (s *story) awaitTelling(count int) {
	s.Helper()
	tells := func(c corev1.PodCondition) bool { return strings.HasPrefix(c.Message, "waiting for group") }
	require.Eventually(s, func() bool {
		var pods corev1.PodList
		require.NoError(s, s.API.List(s.Ctx, &pods, client.InNamespace(s.Namespace)))
		telling := 0
		for i := range pods.Items {
			if slices.ContainsFunc(pods.Items[i].Status.Conditions, tells) {
				telling++
			}
		}
		return telling >= count
	}, cluster.Patience+time.Duration(count)*150*time.Millisecond, time.Second, "waited for %d pods to tell what they wait for", count)
}

// readyToAllBound makes db ready and returns the time until this many other pods are bound, as one watch sees them.
func (s *story) readyToAllBound(count int) time.Duration {
	core, err := kubernetes.NewForConfig(s.Cluster.Config())
	require.NoError(s, err)
	var ready time.Time
	bound, allBound := map[string]bool{}, make(chan time.Duration, 1)
	see := func(object any) {
		switch pod := object.(*corev1.Pod); {
		case pod.Name == "db" && cluster.IsReady(pod) && ready.IsZero():
			ready = time.Now()
		case pod.Name != "db" && pod.Spec.NodeName != "" && !bound[pod.Name]:
			if bound[pod.Name] = true; len(bound) == count {
				allBound <- time.Since(ready)
			}
		}
	}
	ctx, cancel := context.WithCancel(s.Ctx)
	defer cancel()
	factory := informers.NewSharedInformerFactoryWithOptions(core, 0, informers.WithNamespace(s.Namespace))
	pods := factory.Core().V1().Pods().Informer()
	_, err = pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, object any) { see(object) }})
	require.NoError(s, err)
	factory.StartWithContext(ctx)
	require.True(s, cache.WaitForCacheSync(ctx.Done(), pods.HasSynced))
	s.annotate("db", cluster.ReadyAfter, "0s")
	select {
	case took := <-allBound:
		return took
	case <-ctx.Done():
		require.Fail(s, "not all pods were bound in time")
		return 0
	}
}

// isUp reports whether the instance has begun, be it as a standby.
func isUp(p *cluster.Program) bool {
	for _, arg := range p.Args {
		if address, ok := strings.CutPrefix(arg, "--health-probe-bind-address="); ok {
			response, err := http.Get("http://" + address + "/readyz")
			if err != nil {
				return false
			}
			_ = response.Body.Close()
			return response.StatusCode == http.StatusOK
		}
	}
	return false
}

// measureMemory reports what both programs keep in memory, in MiB.
func (s *story) measureMemory(b *testing.B, when string) {
	for short, program := range map[string]string{
		"scheduler": controlplane.PodSequenceScheduler, "controller": controlplane.PodSequenceController,
	} {
		pid, err := s.Cluster.PID(program)
		require.NoError(b, err)
		rollup, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		require.NoError(b, err)
		mebibytes := field(b, rollup, "Pss:") / 1024
		b.Logf("%s %s: %.0f MiB", short, when, mebibytes)
		b.ReportMetric(mebibytes, short+"-"+when+"-MiB")
		require.NoError(b, rollup.Close())
	}
}

// field is the number that follows a word at the beginning of a line.
func field(b *testing.B, text io.Reader, word string) float64 {
	b.Helper()
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[0] == word {
			value, err := strconv.ParseFloat(fields[1], 64)
			require.NoError(b, err)
			return value
		}
	}
	require.Fail(b, "no "+word)
	return 0
}

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// One of them by the scheduler, for a pod of its own, and one by the controller, for a gated pod of another scheduler.
func TestAPodThatIsHeldForTenSecondsGetsOneEvent(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Create(s.threeTiers().Obj())
	s.createPods(s.pod("db"), s.pod("app"), s.gated("web").SchedulerName(stockScheduler))
	s.awaitEventOf("app", controlplane.PodSequenceScheduler)
	if s.env.scheduler == stockScheduler { // in place of it
		s.awaitEventOf("web", controlplane.PodSequenceScheduler)
	} else {
		s.awaitEventOf("web", controlplane.PodSequenceController)
	}
}

// awaitEventOf waits for the one event that says what a held pod waits for.
func (s *story) awaitEventOf(pod, reporter string) {
	s.Helper()
	var found []eventsv1.Event
	s.Await("an event on "+pod, func() bool {
		found = slices.DeleteFunc(s.Events(pod), func(e eventsv1.Event) bool { return e.Reason != v1alpha1.EventWaitingForGroup })
		return len(found) > 0
	})
	require.Len(s, found, 1)
	event, object := found[0], s.getPod(pod)
	assert.Equal(s, object.UID, event.Regarding.UID)
	assert.Equal(s, reporter, event.ReportingController)
	assert.Contains(s, event.Note, `waiting for group 1/3 "Database" of PodSequence `+s.Namespace+"/shop: 0 of 1 pods ready")
	assert.GreaterOrEqual(s, event.EventTime.Sub(object.CreationTimestamp.Time), 10*time.Second)
}

// BenchmarkExplanations measures what it costs to tell 5,000 held pods what they wait for: from their creation until all are
// told, writes and processor time of our scheduler, and how fast they are bound once they are released. To be compared with a
// scheduler that tells them nothing. Run it with
//
//	go test -run '^$' -bench Explanations -benchtime 1x -timeout 30m ./test/integration/
func BenchmarkExplanations(b *testing.B) {
	const pods, program = 5000, controlplane.PodSequenceScheduler
	for _, told := range []bool{true, false} {
		name := map[bool]string{true: "on", false: "off"}[told]
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				env := startForBenchmark(b, controlplane.Options{AuditLog: true, Nodes: 11})
				s := newBenchmark(b, env)
				if !told {
					config, err := os.ReadFile(s.schedulerConfig())
					require.NoError(b, err)
					require.Contains(b, string(config), "explainWaits: true")
					file := filepath.Join(b.TempDir(), "silent.yaml")
					require.NoError(b, os.WriteFile(file, []byte(strings.ReplaceAll(string(config), "explainWaits: true", "explainWaits: false")), 0o600))
					require.NoError(b, env.Kill(s.Ctx, program))
					require.NoError(b, env.StartComponent(s.Ctx, program, "--config="+file))
				}
				pid, err := env.PID(program)
				require.NoError(b, err)
				s.Create(s.sequence("shop").Pods("Database", "db").Label("Application", "tier", "many").Obj())
				s.createPods(s.pod("db"))
				s.awaitBound("db")

				begin, spent := time.Now(), cluster.ProcessorTime(b, pid).Seconds()
				s.createAtOnce(pods, func(i int) *st.PodWrapper { return s.pod(fmt.Sprintf("app-%d", i)).Label("tier", "many") })
				b.ReportMetric(time.Since(begin).Seconds(), "s-created")
				if told {
					s.awaitTelling(pods)
					b.ReportMetric(time.Since(begin).Seconds(), "s-told")
				}
				s.awaitLong("all to be held", func() bool { return s.Cluster.Metric(s, program, "podsequence_held_pods ") == pods })
				b.ReportMetric(cluster.ProcessorTime(b, pid).Seconds()-spent, "cpu-s-held")
				b.ReportMetric(float64(s.countWrites("app-"))/pods, "writes/pod-held")
				spent = cluster.ProcessorTime(b, pid).Seconds()
				took := s.readyToAllBound(pods)
				b.ReportMetric(took.Seconds(), "s-bound")
				b.ReportMetric(pods/took.Seconds(), "bound/s")
				b.ReportMetric(cluster.ProcessorTime(b, pid).Seconds()-spent, "cpu-s-bound")
				require.NoError(b, env.StopAndClean(true))
			}
		})
	}
}

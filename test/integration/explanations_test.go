package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/internal/controlplane"
)

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

				begin, spent := time.Now(), cpuSeconds(b, pid)
				s.createAtOnce(pods, func(i int) *st.PodWrapper { return s.pod(fmt.Sprintf("app-%d", i)).Label("tier", "many") })
				b.ReportMetric(time.Since(begin).Seconds(), "s-created")
				if told {
					s.awaitTelling(pods)
					b.ReportMetric(time.Since(begin).Seconds(), "s-told")
				}
				s.awaitLong("all to be held", func() bool { return s.Cluster.Metric(s, program, "podsequence_held_pods ") == pods })
				b.ReportMetric(cpuSeconds(b, pid)-spent, "cpu-s-held")
				b.ReportMetric(float64(s.countWrites("app-"))/pods, "writes/pod-held")
				spent = cpuSeconds(b, pid)
				took := s.readyToAllBound(pods)
				b.ReportMetric(took.Seconds(), "s-bound")
				b.ReportMetric(pods/took.Seconds(), "bound/s")
				b.ReportMetric(cpuSeconds(b, pid)-spent, "cpu-s-bound")
				require.NoError(b, env.StopAndClean(true))
			}
		})
	}
}

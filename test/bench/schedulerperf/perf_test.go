package schedulerperf

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"

	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	perf "k8s.io/kubernetes/test/integration/scheduler_perf"
	"k8s.io/kubernetes/test/utils/client-go/ktesting"

	"example.com/podsequence/pkg/plugins/podsequence"
)

// figuresFile is where the figures of the one workload that was run are written.
var figuresFile = flag.String("figures", "", "`file` to which to write the figures, as JSON")

func TestMain(m *testing.M) {
	if err := perf.InitTests(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	m.Run()
}

// BenchmarkPerfScheduling runs the workloads of testdata/performance-config.yaml that -bench selects, which should be one: the
// figures are of all together. It needs etcd on PATH. `make bench` runs it.
func BenchmarkPerfScheduling(b *testing.B) {
	watch, churn := &stopwatch{}, &churn{}
	perf.PluginNames = append(perf.PluginNames, podsequence.Name)
	registry := runtime.Registry{podsequence.Name: podsequence.New, stopwatchName: watch.plugin}
	perf.RunBenchmarkPerfScheduling(b, "testdata/performance-config.yaml", "podsequence", registry,
		perf.WithPreRunFn(func(_ ktesting.TContext, w *perf.Workload) (func(), error) {
			return nil, churn.configure(w)
		}),
		perf.WithPrepareFn(churn.start))
	if *figuresFile == "" || watch.bound < 2 {
		return
	}
	content, err := json.Marshal(map[string]float64{
		"pods": float64(watch.bound), "seconds": watch.took().Seconds(),
		"pods/s":    float64(watch.bound-1) / watch.took().Seconds(),
		"CPU us":    float64(watch.spent().Microseconds()) / float64(watch.bound-1),
		"changes/s": churn.rate(),
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(*figuresFile, content, 0o600); err != nil {
		b.Fatal(err)
	}
}

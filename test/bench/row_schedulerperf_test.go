package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/podsequence/internal/controlplane"
)

// Rows 1 to 4 are workloads of schedulerperf/testdata/performance-config.yaml.

const (
	// perfProgram is the test program of schedulerperf, which `make bench` builds into the directory of our programs.
	perfProgram = "schedulerperf.test"
	throughput  = "pods/s"
)

func idleRow() row {
	return row{
		number: 1, name: "idle", turns: manyTurns,
		question: "What does the plugin cost pods in no sequence, with the kinds installed and a sequence elsewhere? 5,000 nodes, 10,000 pods",
		variants: []variant{perfVariant("plugin off", "Idle-PluginOff"), perfVariant("plugin on", "Idle-PluginOn")},
		claims:   []claim{{text: "pods a second, plugin on / off", of: "plugin on", to: "plugin off", figure: throughput, atLeast: new(0.98)}},
	}
}

func batchingRow() row {
	return row{
		number: 2, name: "batching", turns: manyTurns,
		question: "Are pods of the same kind still scheduled in batches? 5,000 nodes, 5,000 pods that all want the same port",
		variants: []variant{perfVariant("plugin off", "Batching-PluginOff"), perfVariant("plugin on", "Batching-PluginOn")},
		claims:   []claim{{text: "pods a second, plugin on / off", of: "plugin on", to: "plugin off", figure: throughput, atLeast: new(0.97)}},
	}
}

func heldRow() row {
	const gates = "held by native gates, plugin off"
	return row{
		number: 3, name: "held", turns: manyTurns,
		question: "What do 10,000 held pods cost 10,000 other ones? 5,000 nodes",
		variants: []variant{
			perfVariant(gates, "Held-Gates"), perfVariant("held by us", "Held-PluginOn"),
			perfVariant("held by us, without explanations", "Held-PluginOnSilent"),
		},
		claims: []claim{
			{text: "pods a second, held by us / by native gates", of: "held by us", to: gates, figure: throughput, atLeast: new(0.98)},
			{text: "the same without explanations", of: "held by us, without explanations", to: gates, figure: throughput, atLeast: new(0.98)},
		},
	}
}

func churnRow() row {
	return row{
		number: 4, name: "churn", turns: manyTurns,
		question: "What do 200 changes of readiness a second cost, of pods that the 10,000 held ones of row 3 wait for?",
		variants: []variant{
			perfVariant("no churn", "Held-PluginOn"), perfVariant("churn", "Held-PluginOnChurn"),
			perfVariant("no churn, native gates", "Held-Gates"), perfVariant("churn, native gates", "Held-GatesChurn"),
		},
		claims: []claim{
			{text: "pods a second, churn / no churn", of: "churn", to: "no churn", figure: throughput, atLeast: new(0.95)},
			{text: "the same with native gates, plugin off: what the changes cost by themselves", of: "churn, native gates",
				to: "no churn, native gates", figure: throughput},
		},
	}
}

// perfVariant is a workload of scheduler_perf, in a process of its own.
func perfVariant(name, testCase string) variant {
	return variant{name: name, start: measureAnew(func(b *testing.B, _ int) measurement { return runPerf(b, testCase) })}
}

func runPerf(b *testing.B, testCase string) measurement {
	b.Helper()
	bin, err := controlplane.FindBin()
	require.NoError(b, err)
	bin, err = filepath.Abs(bin)
	require.NoError(b, err)
	dir := b.TempDir()
	// The directory of etcd on PATH.
	etcd := fmt.Sprintf("#!/bin/sh\nexec '%s' component etcd -- \"$@\" --unsafe-no-fsync\n", filepath.Join(bin, "sandbox"))
	require.NoError(b, os.WriteFile(filepath.Join(dir, "etcd"), []byte(etcd), 0o700))
	size := "full"
	if testing.Short() {
		size = "short"
	}
	figures := filepath.Join(dir, "figures.json")
	command := exec.CommandContext(b.Context(), filepath.Join(bin, perfProgram), "-test.run=^$", "-test.benchtime=1x", "-test.timeout=30m",
		fmt.Sprintf("-test.bench=^BenchmarkPerfScheduling$/^%s$/^%s$", testCase, size), "-figures="+figures, "-data-items-dir="+dir)
	command.Dir = "schedulerperf"
	command.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), "ARTIFACTS="+dir)
	output, err := command.CombinedOutput()
	require.NoError(b, err, "%s of scheduler_perf (is bin/%s built?): %s", testCase, perfProgram, last(output, 4000))
	content, err := os.ReadFile(figures)
	require.NoError(b, err, "%s measured nothing: %s", testCase, last(output, 4000))
	m := measurement{}
	require.NoError(b, json.Unmarshal(content, &m.figures))
	return m
}

// last is the end of a long text.
func last(text []byte, length int) []byte { return text[max(0, len(text)-length):] }

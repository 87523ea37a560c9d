package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// Rows 1 to 4 are workloads of schedulerperf/testdata/performance-config.yaml.

const (
	// perfProgram is the test program of schedulerperf, which `make bench` builds into the directory of our programs.
	perfProgram = "schedulerperf.test"
	throughput  = "pods/s"
	// processorTime is of a pod, of the process with the scheduler and the API server. What else the machine does changes it less.
	processorTime = "CPU us"
)

func idleRow() row {
	return row{
		number: 1, name: "idle", turns: manyTurns,
		question: "What does the plugin cost pods in no sequence, with the kinds installed and a sequence elsewhere? 5,000 nodes, 10,000 pods",
		variants: []variant{perfVariant("plugin off", "Idle-PluginOff"), perfVariant("plugin on", "Idle-PluginOn")},
		claims: []claim{
			{text: "pods a second, plugin on / off", of: "plugin on", to: "plugin off", figure: throughput, atLeast: new(0.98)},
			{text: "processor time a pod, of scheduler and API server, plugin on / off", of: "plugin on", to: "plugin off", figure: processorTime},
		},
	}
}

func batchingRow() row {
	return row{
		number: 2, name: "batching", turns: manyTurns,
		question: "Are pods of the same kind still scheduled in batches? 5,000 nodes, 5,000 pods that all want the same port",
		variants: []variant{perfVariant("plugin off", "Batching-PluginOff"), perfVariant("plugin on", "Batching-PluginOn")},
		claims: []claim{
			{text: "pods a second, plugin on / off", of: "plugin on", to: "plugin off", figure: throughput, atLeast: new(0.97)},
			{text: "processor time a pod, of scheduler and API server, plugin on / off", of: "plugin on", to: "plugin off", figure: processorTime},
		},
	}
}

// Rows 3 and 4 share their variants without churn.
const (
	heldSeries   = "held"
	heldByGates  = "held by native gates, plugin off"
	heldByUs     = "held by us"
	heldSilently = "held by us, without explanations"
)

func heldRow() row {
	return row{
		number: 3, name: "held", turns: manyTurns, series: heldSeries,
		question: "What do 10,000 held pods cost 10,000 other ones? 5,000 nodes",
		variants: []variant{
			perfVariant(heldByGates, "Held-Gates"), perfVariant(heldByUs, "Held-PluginOn"), perfVariant(heldSilently, "Held-PluginOnSilent"),
		},
		claims: []claim{
			{text: "pods a second, held by us / by native gates", of: heldByUs, to: heldByGates, figure: throughput, atLeast: new(0.98)},
			{text: "the same without explanations", of: heldSilently, to: heldByGates, figure: throughput, atLeast: new(0.98)},
		},
		notes: []string{"The queue looks at each held pod each time a pod is bound, whoever holds it: with 10,000 this takes a sixth of the " +
			"processor time. Explanations are status patches, ten a second in one namespace."},
	}
}

func churnRow() row {
	const churned, gatesChurned = "held by us, with churn", "held by native gates, plugin off, with churn"
	return row{
		number: 4, name: "churn", turns: manyTurns, series: heldSeries,
		question: "What do 200 changes of readiness a second cost, of pods that the 10,000 held ones of row 3 wait for?",
		variants: []variant{
			perfVariant(heldByUs, "Held-PluginOn"), perfVariant(churned, "Held-PluginOnChurn"),
			perfVariant(heldByGates, "Held-Gates"), perfVariant(gatesChurned, "Held-GatesChurn"),
		},
		claims: []claim{
			{text: "pods a second, churn / no churn", of: churned, to: heldByUs, figure: throughput, atLeast: new(0.95)},
			{text: "the same with native gates, plugin off: what the changes cost by themselves", of: gatesChurned, to: heldByGates,
				figure: throughput},
			{text: "with churn, held by us / by native gates", of: churned, to: gatesChurned, figure: throughput},
		},
		notes: []string{"The benchmark patches the status of the pods. It shares two processors with the API server, which does most of the work, " +
			"and with the scheduler, so the changes slow down everything, whoever holds the pods, and are fewer than 200 a second."},
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

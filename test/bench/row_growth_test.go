package bench

import (
	"bytes"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"
)

// Row 8 reads what benchmarks of other packages report.

func growthRow() row {
	const engine, running, ended = "the engine", "50,000 pods that run", "50,000 pods that have ended"
	small, large := "1000", fmt.Sprint(inFull(100_000, 10_000))
	both := &programTests{}
	r := row{
		number: 8, name: "growth", turns: fewTurns,
		question: "What grows with the number of pods? 1,000 to 100,000 in the engine; in both programs 50,000, of which 1,000 are in a sequence",
		variants: []variant{{engine, startEngine}, both.variant(running, "running"), both.variant(ended, "ended")},
		axes:     axes{X: "pods", Y: "nanoseconds for each event", LogX: true, LogY: true},
		notes: []string{
			"The curve is of an event of a pod that others wait for.",
			"The controller does nothing but what is ours: there is nothing to compare it with. Memory is resident memory 10 s after a garbage " +
				"collection (of the controller: 30 s after its start).",
			"A scheduler without the plugin does not watch pods that have ended, so it takes no memory for them.",
		},
	}
	for _, event := range []struct{ name, figure string }{
		{"an event of a pod, ", "PodEvent ns, pods="}, {"a question of the scheduler's queue, ", "Decide ns, pods="},
	} {
		r.claims = append(r.claims, claim{
			text: fmt.Sprintf("engine time for %s%s pods / %s", event.name, large, small), of: engine,
			figure: event.figure + large, toFigure: event.figure + small, atMost: new(1.2),
		})
	}
	for _, pods := range []struct{ text, kind string }{
		{"live heap for a pod that has ended, in bytes", "that have ended, of a sequence"},
		{"for one that waits in the cluster", "that wait in the cluster"},
		{"for one that waits for a node", "that wait for a node"},
	} {
		r.claims = append(r.claims, claim{text: pods.text, of: engine, figure: "PodMemory B/pod, " + pods.kind, atMost: new(600.0)})
	}
	for _, c := range []struct {
		text, of, unit, with, without string
		atMost                        *float64
	}{
		{"live heap of the scheduler, pods that run, plugin on / off", running, "live", "plugin-on-one-sequence", "plugin-off", new(1.05)},
		{"memory of the scheduler, the same", running, "resident", "plugin-on-one-sequence", "plugin-off", new(1.05)},
		{"memory of the controller, the same, with the sequence / without", running, "resident", "controller-one-sequence", "controller-no-sequence", nil},
		{"memory of the scheduler, pods that have ended, no sequence, plugin on / off", ended, "resident", "plugin-on-no-sequence", "plugin-off", new(1.05)},
		{"the same with a sequence", ended, "resident", "plugin-on-one-sequence", "plugin-off", nil},
	} {
		r.claims = append(r.claims, claim{
			text: c.text, of: c.of, figure: "MiB " + c.unit + ", " + c.with, toFigure: "MiB " + c.unit + ", " + c.without, atMost: c.atMost,
		})
	}
	return r
}

func startEngine(b *testing.B) func(int) measurement {
	program := compileTests(b, enginePackage)
	return func(int) measurement { return measureEngine(b, program) }
}

func measureEngine(b *testing.B, program string) measurement {
	b.Helper()
	sizes := "pods=(1000|10000|100000)$"
	if testing.Short() {
		sizes = "pods=(1000|10000)$"
	}
	m := measurement{figures: map[string]float64{}}
	const nanoseconds = 1e9 // benchfmt has seconds
	for _, r := range runBenchmarks(b, enginePackage, program, "^Benchmark(PodEvent|Decide)$/"+sizes, inFullText("1s", "100x")) {
		name, size, _ := strings.Cut(strings.TrimSuffix(r.Name.String(), gomaxprocs(r)), "/")
		seconds, known := r.Value("sec/op")
		require.True(b, known, "%s reports no time", r.Name)
		m.figures[name+" ns, "+size] = seconds * nanoseconds
	}
	for _, r := range runBenchmarks(b, enginePackage, program, "^BenchmarkPodMemory$", "1x") {
		name, kind, _ := strings.Cut(strings.TrimSuffix(r.Name.String(), gomaxprocs(r)), "/")
		bytes, known := r.Value("B/pod")
		require.True(b, known, "%s reports no memory", r.Name)
		m.figures[name+" B/pod, "+strings.ReplaceAll(kind, "_", " ")] = bytes
	}
	for _, figure := range slices.Sorted(maps.Keys(m.figures)) {
		var pods float64
		if _, err := fmt.Sscanf(figure, "PodEvent ns, pods=%g", &pods); err == nil {
			m.curve = append(m.curve, point{X: pods, Y: m.figures[figure]})
		}
	}
	slices.SortFunc(m.curve, func(a, b point) int { return int(a.X - b.X) })
	return m
}

// programPackage has the benchmarks of our programs.
const programPackage = "test/integration"

// programTests are compiled once for all variants: it takes a while.
type programTests struct {
	once    sync.Once
	program string
}

// variant is what our programs take with many pods of a kind.
func (p *programTests) variant(name, pods string) variant {
	return variant{name, func(b *testing.B) func(int) measurement {
		p.once.Do(func() { p.program = compileTests(b, programPackage) })
		return func(int) measurement { return measureManyPods(b, p.program, pods) }
	}}
}

func measureManyPods(b *testing.B, program, pods string) measurement {
	b.Helper()
	m := measurement{figures: map[string]float64{}}
	args := []string{"-many-pods=50000"}
	if testing.Short() {
		args = []string{"-many-pods=500", "-many-pods-pause=100ms"}
	}
	for _, r := range runBenchmarks(b, programPackage, program, "^BenchmarkManyPods$/^"+pods+"$", "1x", args...) {
		_, variant, _ := strings.Cut(strings.TrimSuffix(r.Name.String(), gomaxprocs(r)), "/"+pods+"/")
		for unit, figure := range map[string]string{"live-heap-MiB": "MiB live, ", "resident-after-gc-MiB": "MiB resident, "} {
			value, known := r.Value(unit)
			require.True(b, known, "%s reports no %s", r.Name, unit)
			m.figures[figure+variant] = value
		}
	}
	return m
}

// gomaxprocs is what go test appends to the name of a benchmark.
func gomaxprocs(r *benchfmt.Result) string {
	_, parts := r.Name.Parts()
	if last := len(parts) - 1; last >= 0 && bytes.HasPrefix(parts[last], []byte("-")) {
		return string(parts[last])
	}
	return ""
}

// compileTests compiles the tests of a package of ours.
func compileTests(b *testing.B, pkg string) (program string) {
	b.Helper()
	program = filepath.Join(b.TempDir(), "package.test")
	command := exec.CommandContext(b.Context(), "go", "test", "-c", "-vet=off", "-o", program, "./"+pkg)
	command.Dir = "../.."
	output, err := command.CombinedOutput()
	require.NoError(b, err, "compile the tests of %s: %s", pkg, output)
	return program
}

// runBenchmarks runs benchmarks of a package of ours and returns what they report.
func runBenchmarks(b *testing.B, pkg, program, pattern, benchTime string, args ...string) []*benchfmt.Result {
	b.Helper()
	args = append([]string{"-test.run=^$", "-test.bench=" + pattern, "-test.benchtime=" + benchTime, "-test.timeout=60m"}, args...)
	command := exec.CommandContext(b.Context(), program, args...)
	command.Dir = filepath.Join("../..", pkg)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	require.NoError(b, err, "%s %s: %s%s", pkg, strings.Join(args, " "), last(output, 4000), last(stderr.Bytes(), 4000))
	var results []*benchfmt.Result
	reader := benchfmt.NewReader(bytes.NewReader(output), pkg)
	for reader.Scan() {
		if r, ok := reader.Result().(*benchfmt.Result); ok {
			results = append(results, r.Clone())
		}
	}
	require.NoError(b, reader.Err())
	require.NotEmpty(b, results, "%s %s: %s", pkg, strings.Join(args, " "), last(output, 4000))
	return results
}

func inFullText(text, small string) string {
	if testing.Short() {
		return small
	}
	return text
}

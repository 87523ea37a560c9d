package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// engineBenchmark is a benchmark of the engine that runs with each of some numbers of pods.
type engineBenchmark struct {
	name, text string
	// few and many are two numbers of operations. What many take more than few is what the operations take that few does not have: the
	// start of the program and of the benchmark is in both.
	few, many int
}

const enginePackage = "pkg/sequence"

var engineBenchmarks = []engineBenchmark{
	{"PodEvent", "an event of a pod", 1000, 21_000},
	{"Decide", "a question of the scheduler's queue", 1000, 201_000},
}

func (e engineBenchmark) figure(pods int) string {
	return fmt.Sprintf("%s instructions, pods=%d", e.name, pods)
}

func workGrowthRow() row {
	const engine = "the engine"
	small, large := 1000, inFull(100_000, 10_000)
	// The text of a claim is the same in a trial, which is compared with what an earlier one has counted.
	r := row{
		number: 8, work: true, name: "growth-work", turns: 3,
		question: fmt.Sprintf("What grows with the number of pods? 1,000 to %d in the engine", large),
		variants: []variant{{engine, func(b *testing.B) func(int) measurement {
			program := compileTests(b, enginePackage)
			return func(int) measurement {
				m := measurement{figures: map[string]float64{}}
				var lock sync.Mutex
				// Counts do not depend on what else the machine does.
				var counting errgroup.Group
				counting.SetLimit(runtime.NumCPU())
				for _, e := range engineBenchmarks {
					for _, pods := range []int{small, large} {
						counting.Go(func() error {
							instructions, err := e.instructions(b.Context(), program, pods)
							lock.Lock()
							defer lock.Unlock()
							m.figures[e.figure(pods)] = instructions
							return err
						})
					}
				}
				require.NoError(b, counting.Wait())
				return m
			}
		}}},
	}
	for _, e := range engineBenchmarks {
		r.claims = append(r.claims,
			claim{text: "instructions for " + e.text + ", with 1,000 pods", of: engine, figure: e.figure(small)},
			claim{text: "instructions for " + e.text + ", with many pods / with 1,000", of: engine, figure: e.figure(large), toFigure: e.figure(small), atMost: new(1.2)})
	}
	return r
}

// instructions returns how many one operation takes.
func (e engineBenchmark) instructions(ctx context.Context, program string, pods int) (float64, error) {
	few, err := e.count(ctx, program, pods, e.few)
	if err != nil {
		return 0, err
	}
	many, err := e.count(ctx, program, pods, e.many)
	return (many - few) / float64(e.many-e.few), err
}

var collected = regexp.MustCompile(`Collected : (\d+)`)

// count returns how many instructions the program takes for so many operations.
func (e engineBenchmark) count(ctx context.Context, program string, pods, operations int) (float64, error) {
	command := exec.CommandContext(ctx, countingTool, "--tool=callgrind", "--vgdb=no", "--callgrind-out-file="+os.DevNull, program,
		"-test.run=^$", fmt.Sprintf("-test.bench=^Benchmark%s$/^pods=%d$", e.name, pods), fmt.Sprintf("-test.benchtime=%dx", operations))
	command.Env = countedEnvironment()
	output, err := command.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("count %s of the engine: %w: %s", e.name, err, last(output, 4000))
	}
	found := collected.FindSubmatch(output)
	if found == nil || !bytes.Contains(output, []byte("Benchmark"+e.name)) {
		return 0, fmt.Errorf("count %s of the engine: no such benchmark, or no count: %s", e.name, last(output, 4000))
	}
	count, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		return 0, fmt.Errorf("count %s of the engine: %w", e.name, err)
	}
	return count, nil
}

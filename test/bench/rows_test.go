package bench

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/tools/sandbox/controlplane"
)

var (
	onlyWork     = flag.Bool("only-work", false, "measure only the rows that count work")
	rowNumbers   = flag.String("rows", "", "`numbers` of the rows to measure, with commas between them; empty for all")
	writeThePage = flag.Bool("write-page", false, "write docs/proof/benchmarks.md and docs/performance.md from the results that are stored, and measure nothing")
)

// Where results are stored, and the page that is made of them, from the directory of this package.
const (
	resultsDir = "results"
	pageFile   = "../../docs/proof/benchmarks.md"
)

// Of how many turns the rows are. Those of scheduler_perf differ by little, so they need more.
const (
	manyTurns = 9
	fewTurns  = 5
)

// row is a question, and the variants that answer it.
type row struct {
	number   int
	name     string
	question string
	turns    int
	variants []variant
	claims   []claim
	axes     axes
	notes    []string
	// series names the rows that share variants: a turn measures each of these once, for all rows. Empty if the row shares none.
	series string
	// work says that the row counts work. The row of the same number that does not, measures time.
	work bool
}

// variant is one of the things that are compared.
type variant struct {
	name string
	// start prepares what lasts for all turns and returns what measures one.
	start func(b *testing.B) func(turn int) measurement
}

// measureAnew is a variant of which nothing lasts.
func measureAnew(measure func(b *testing.B, turn int) measurement) func(b *testing.B) func(turn int) measurement {
	return func(b *testing.B) func(turn int) measurement {
		return func(turn int) measurement { return measure(b, turn) }
	}
}

func allRows() []row {
	return append(workRows(),
		idleRow(), batchingRow(), heldRow(), churnRow(), releaseRow(), nodeRow(), requestsRow(), growthRow(), restartRow(), tierRow(),
		shopRow(), driversRow(), crowdRow(),
	)
}

// BenchmarkRows measures rows of the table. It is no benchmark in the sense of go test: run it by `make bench`, or with
//
//	go test -run '^$' -bench Rows -benchtime 1x -timeout 24h ./test/bench -rows 5
func BenchmarkRows(b *testing.B) {
	requireThisBuild(b)
	wanted, err := parseRows(*rowNumbers)
	require.NoError(b, err)
	rows := slices.DeleteFunc(allRows(), func(r row) bool {
		return len(wanted) > 0 && !slices.Contains(wanted, r.number) || *onlyWork && !r.work
	})
	isCounted := func(r row) bool { return r.work }
	if counted := slices.ContainsFunc(rows, isCounted); counted && testing.Short() && !*onlyWork {
		defer countApart(b)()
		rows = slices.DeleteFunc(rows, isCounted)
	}
	var results []result
	for _, together := range bySeries(rows) {
		b.Run(nameOf(together), func(b *testing.B) {
			measured := measure(b, together)
			for _, r := range together {
				done := r.conclude(b, measured)
				results = append(results, done)
				done.keep(b)
				done.compare(b)
			}
		})
	}
	fmt.Println()
	printTable(os.Stdout, results, !testing.Short())
}

// countApart counts work in a process of its own, while this one tries the rows that measure time. What it returns waits for the process,
// and prints what that has found.
func countApart(b *testing.B) (end func()) {
	b.Helper()
	program, err := os.Executable()
	require.NoError(b, err)
	command := exec.Command(program, "-test.run=^$", "-test.bench=^BenchmarkRows$", "-test.benchtime=1x", "-test.timeout=24h", "-test.short",
		"-only-work", "-rows="+*rowNumbers, fmt.Sprintf("-write-baseline=%t", *writeBaseline))
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, os.Stderr
	require.NoError(b, command.Start())
	return func() {
		err := command.Wait()
		fmt.Printf("\n%s", &output)
		assert.NoError(b, err, "count work")
	}
}

// keep stores a result and publishes it with all others that are stored, unless it is that of a trial, or of an earlier build beside this one.
func (r result) keep(b *testing.B) {
	b.Helper()
	if testing.Short() || *earlierBuild != "" {
		return
	}
	require.NoError(b, r.save(resultsDir))
	require.NoError(b, publish(resultsDir, pageFile))
	results, err := loadResults(resultsDir)
	require.NoError(b, err)
	assert.NoError(b, writeSummary(summaryFile, results))
}

func parseRows(list string) ([]int, error) {
	var rows []int
	for text := range strings.SplitSeq(list, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		number, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("read numbers of rows: %w", err)
		}
		rows = append(rows, number)
	}
	return rows, nil
}

// bySeries returns the rows that are measured together.
func bySeries(rows []row) (together [][]row) {
	for _, r := range rows {
		same := func(others []row) bool { return r.series != "" && others[0].series == r.series }
		if i := slices.IndexFunc(together, same); i >= 0 {
			together[i] = append(together[i], r)
			continue
		}
		together = append(together, []row{r})
	}
	return together
}

// nameOf returns the name of rows that are measured together, for people who follow the progress.
func nameOf(rows []row) string {
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = fmt.Sprintf("%d-%s", r.number, r.name)
	}
	return strings.Join(names, ",")
}

// measure measures all variants of rows of a series in turn, as often as the row asks that asks for most turns. Each turn begins with
// another variant, so that none always comes after the same one. A trial, which judges no time, measures several at a time.
func measure(b *testing.B, rows []row) map[string][]measurement {
	turns := 0
	for _, r := range rows {
		progress("row %d: %s", r.number, r.question)
		turns = max(turns, inFull(r.turns, 1))
	}
	return measureTurns(b, rows, turns, inFull(1, 2*runtime.NumCPU()))
}

// measureTurns measures each variant of the rows so many times, in so many lanes side by side.
func measureTurns(b *testing.B, rows []row, turns, lanes int) map[string][]measurement {
	var variants []variant
	for _, r := range rows {
		for _, v := range r.variants {
			if !slices.ContainsFunc(variants, func(other variant) bool { return other.name == v.name }) {
				variants = append(variants, v)
			}
		}
	}
	run := make([]func(int) measurement, len(variants))
	inLanes(b, lanes, len(variants), func(i int) { run[i] = variants[i].start(b) })
	measured := map[string][]measurement{}
	for turn := range turns {
		found := make([]measurement, len(variants))
		inLanes(b, lanes, len(variants), func(place int) {
			i := (place + turn) % len(variants)
			began := time.Now()
			found[i] = run[i](turn)
			progress("%s, turn %d of %d, %s: %s; took %.0f s", nameOf(rows), turn+1, turns, variants[i].name, found[i], time.Since(began).Seconds())
		})
		for i, v := range variants {
			measured[v.name] = append(measured[v.name], found[i])
		}
	}
	return measured
}

// inLanes does something for each number below count, in so many goroutines. If one of them fails the benchmark, it ends when all are done.
func inLanes(t testing.TB, lanes, count int, do func(i int)) {
	t.Helper()
	if lanes == 1 {
		for i := range count {
			do(i)
		}
		return
	}
	free := make(chan struct{}, lanes)
	var doing sync.WaitGroup
	for i := range count {
		free <- struct{}{}
		doing.Go(func() {
			defer func() { <-free }()
			do(i)
		})
	}
	doing.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

func (r row) conclude(b *testing.B, measured map[string][]measurement) result {
	done := result{
		Row: r.number, Work: r.work, Name: r.name, Question: r.question, Axes: r.axes, Notes: r.notes, Figures: map[string]map[string]interval{},
		Date: time.Now().UTC().Format(time.DateOnly), Commit: commit(b), Machine: machine(),
	}
	for _, c := range r.claims {
		f, err := c.judge(measured)
		require.NoError(b, err)
		done.Findings = append(done.Findings, f)
	}
	for _, v := range r.variants {
		byName := map[string][]float64{}
		for _, m := range measured[v.name] {
			for name, value := range m.figures {
				byName[name] = append(byName[name], value)
			}
		}
		done.Figures[v.name] = map[string]interval{}
		for name, values := range byName {
			done.Figures[v.name][name] = summarize(values)
		}
		const enough = 100
		if last := measured[v.name][len(measured[v.name])-1]; len(last.curve) > 0 {
			done.Curves = append(done.Curves, curve{Name: v.name, Points: thin(last.curve, enough)})
		}
	}
	return done
}

// String lists the figures.
func (m measurement) String() string {
	intervals := map[string]interval{}
	for name, value := range m.figures {
		intervals[name] = interval{Median: value}
	}
	return sortedFigures(intervals)
}

// inFull returns the size of what is measured, or a small one where the benchmark is only tried.
func inFull(size, small int) int {
	if testing.Short() {
		return small
	}
	return size
}

// progress tells people who wait what happens: go test keeps what a benchmark logs until it ends.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// publish writes the page and the pictures of all results that are stored.
func publish(dir, page string) error {
	results, err := loadResults(dir)
	if err != nil {
		return err
	}
	out, err := os.Create(page)
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	writePage(out, results)
	if err := out.Close(); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	for _, r := range results {
		if len(r.Curves) == 0 {
			continue
		}
		if err := drawInto(filepath.Join(filepath.Dir(page), pictureFile(r.Row)), r.draw); err != nil {
			return err
		}
		if r.Row == shopNumber {
			if err := drawInto(filepath.Join(filepath.Dir(page), rivalsFile), r.drawRivals); err != nil {
				return err
			}
		}
	}
	return nil
}

// drawInto writes a picture.
func drawInto(file string, draw func(io.Writer)) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("draw picture: %w", err)
	}
	picture, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("draw picture: %w", err)
	}
	draw(picture)
	if err := picture.Close(); err != nil {
		return fmt.Errorf("draw picture: %w", err)
	}
	return nil
}

// commit is what is measured. Results and documentation may have changed since.
func commit(b *testing.B) string {
	b.Helper()
	head, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	text := strings.TrimSpace(string(head))
	changed, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no", "--", ":/", ":!/test/bench/results", ":!/docs").Output()
	if err != nil || len(changed) > 0 {
		text += "-dirty"
	}
	return text
}

// requireThisBuild fails if the programs are of another commit. The go command does not build them.
func requireThisBuild(b *testing.B) {
	b.Helper()
	bin, err := controlplane.FindBin()
	require.NoError(b, err)
	version, err := exec.Command(filepath.Join(bin, controlplane.PodSequenceScheduler), "--version").Output()
	require.NoError(b, err)
	if head := strings.TrimSuffix(commit(b), "-dirty"); head != "unknown" {
		require.Contains(b, string(version), head, "the programs in %s are of another commit: run make build first", bin)
	}
}

// machine describes what this runs on.
func machine() string {
	text := fmt.Sprintf("%d processors", runtime.NumCPU())
	if name := lineOf("/proc/cpuinfo", "model name"); name != "" {
		text += " (" + name + ")"
	}
	if kibibytes, err := strconv.Atoi(strings.TrimSuffix(lineOf("/proc/meminfo", "MemTotal"), " kB")); err == nil {
		text += fmt.Sprintf(", %d GiB", kibibytes>>20)
	}
	return text + ", " + runtime.GOOS + "/" + runtime.GOARCH + ", " + runtime.Version()
}

// lineOf is what follows the colon in the first line of a file that begins so.
func lineOf(file, begin string) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(content)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.HasPrefix(name, begin) {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// judge is the narrowest set of tests that must notice a change: the tests of one package, in one turn or several. What one turn
// catches the next is not asked about.
type judge struct {
	pkg   string
	turns []turn
}

// turn are some of the tests.
type turn struct {
	run, skip string
	// steps are how many random steps the oracle takes.
	steps int
}

// random are the tests of the engine that compare random histories, and slow those that are about what it costs.
const (
	random = "Oracle|TestLate|TestARestart"
	slow   = "Memory|TestExtremes|TestASequenceTakes|Fuzz"
)

var (
	everyTest = []turn{{run: "."}}
	// engine runs the unit tests of the engine and its scenarios first, then the oracle with few steps, then with many.
	engine = judge{"pkg/sequence", []turn{
		{run: ".", skip: random + "|" + slow}, {run: random, skip: slow, steps: 6_000}, {run: random, skip: slow, steps: 120_000},
	}}
	inventories    = judge{"pkg/sequence/inventory", everyTest}
	orders         = judge{"pkg/sequence/order", everyTest}
	holds          = judge{"pkg/sequence/hold", everyTest}
	reports        = judge{"pkg/sequence/report", everyTest}
	records        = judge{"pkg/record", everyTest}
	progresses     = judge{"pkg/sequence/progress", everyTest}
	clocks         = judge{"internal/servertime", everyTest}
	feed           = judge{"pkg/feed", everyTest}
	plugin         = judge{"pkg/plugins/podsequence", everyTest}
	commands       = judge{"tools/podseqctl", everyTest}
	writer         = judge{"pkg/podwriter", everyTest}
	statuses       = judge{"pkg/controllers/podsequence", everyTest}
	sequentialJobs = judge{"pkg/controllers/sequentialjob", everyTest}
	coordinations  = judge{"pkg/controllers/deploymentcoordination", everyTest}
	podGroups      = judge{"pkg/controllers/podgroup", everyTest}

	podGroupWatches = judge{"pkg/controllers/podgroup/podgroupwatch", everyTest}
)

// compile builds the tests with an overlay.
func (j judge) compile(ctx context.Context, overlay, binary string) error {
	build := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", overlay, "-vet=off", "-ldflags=-s -w", "-o", binary, "./"+j.pkg)
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("compile the change: %w\n%s", err, output)
	}
	return nil
}

// run returns the names of the tests that fail with an overlay. The change must compile.
func (j judge) run(ctx context.Context, overlay string, timeout time.Duration) ([]string, error) {
	binary := filepath.Join(filepath.Dir(overlay), "tests")
	if err := j.compile(ctx, overlay, binary); err != nil {
		return nil, err
	}
	for _, t := range j.turns {
		caughtBy, err := t.play(ctx, binary, j.pkg, timeout)
		if err == nil && slices.Equal(caughtBy, []string{endless}) {
			caughtBy, err = t.play(ctx, binary, j.pkg, timeout) // the machine may have stood still
		}
		if err != nil || len(caughtBy) > 0 {
			return caughtBy, err
		}
	}
	return nil, nil
}

// play runs the tests of a turn, in the directory of their package.
func (t turn) play(ctx context.Context, binary, directory string, timeout time.Duration) ([]string, error) {
	args := []string{"-test.run", t.run, "-test.timeout", timeout.String()}
	if t.skip != "" {
		args = append(args, "-test.skip", t.skip)
	}
	command := exec.CommandContext(ctx, binary, args...)
	command.Dir = directory
	command.Env = append(os.Environ(), fmt.Sprint("PODSEQUENCE_ORACLE_STEPS=", t.steps))
	output, err := command.CombinedOutput()
	var exited *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err == nil:
		return nil, nil
	case !errors.As(err, &exited):
		return nil, fmt.Errorf("run the tests of %s: %w", directory, err)
	}
	return failed(output), nil
}

// endless is what catches a change with which a test runs into its time-out.
const endless = "a test that does not end"

var failure = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)

// failed returns what noticed, by the output of tests that did not pass. What has subtests is named by them where these are
// files of their own.
func failed(output []byte) []string {
	var names []string
	for _, match := range failure.FindAllSubmatch(output, -1) {
		if name := nameOf(string(match[1])); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if parts := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "scenarios" }); len(parts) > 0 {
		names = parts
	}
	switch {
	case len(names) > 0:
	case bytes.Contains(output, []byte("panic: test timed out")):
		names = append(names, endless)
	default:
		names = append(names, "a panic")
	}
	return names
}

// nameOf is what the page calls a test that failed.
func nameOf(test string) string {
	name, part, _ := strings.Cut(test, "/")
	switch {
	case name == "TestScenarios" && part != "":
		return "scenario `" + part + "`"
	case name == "TestScenarios":
		return "scenarios"
	case strings.HasPrefix(name, "TestEngineAgreesWithOracle"):
		return "oracle"
	case strings.HasPrefix(name, "TestLate"), strings.HasPrefix(name, "TestARestart"):
		return "oracle with late events and restarts"
	}
	return "`" + name + "`"
}

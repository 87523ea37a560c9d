package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// nativePodGroupsSince is the minor version that serves the PodGroups which our tests create.
const nativePodGroupsSince = 37

// trial runs the tests of features on the control plane of one release.
type trial struct {
	release string
	minor   int
	// controlPlane is the directory of its programs; those that the sandbox has if empty.
	controlPlane string
	// out is the directory of compiled tests, and of what they print.
	out string
	// record hears of each test that ended.
	record *record
}

// run compiles the tests of all features before it starts a cluster: the API server and the compiler would have to share the
// processors, and a test that does not compile is known at once. The tests of one package run together.
func (t *trial) run(ctx context.Context, features []feature) error {
	tests := map[string][]string{}
	for _, f := range features {
		for _, r := range f.runs {
			tests[r.directory] = append(tests[r.directory], r.tests...)
		}
	}
	if err := os.MkdirAll(t.out, 0o755); err != nil {
		return fmt.Errorf("make directory of tests: %w", err)
	}
	directories := slices.Sorted(maps.Keys(tests))
	for _, directory := range directories {
		if err := t.compile(ctx, directory); err != nil {
			return err
		}
	}
	for _, directory := range directories {
		if err := t.runTests(ctx, run{directory, tests[directory]}); err != nil {
			return err
		}
	}
	return nil
}

// file is the path of a file about the tests of a directory.
func (t *trial) file(directory, suffix string) string {
	return filepath.Join(t.out, strings.ReplaceAll(directory, "/", "-")+suffix)
}

func (t *trial) compile(ctx context.Context, directory string) error {
	begin := time.Now()
	command := exec.CommandContext(ctx, "go", "test", "-c", "-o", t.file(directory, ".test"), "./test/"+directory)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("compile test/%s: %w", directory, err)
	}
	fmt.Printf("compiled test/%s in %s\n", directory, time.Since(begin).Round(time.Second))
	return nil
}

// runTests runs tests of one directory. Those that did not end failed, unless somebody ended us.
func (t *trial) runTests(ctx context.Context, r run) error {
	begin, logFile := time.Now(), t.file(r.directory, "-"+t.release+".log")
	log, err := os.Create(logFile)
	if err != nil {
		return fmt.Errorf("make log: %w", err)
	}
	defer func() { _ = log.Close() }()
	command, err := t.command(ctx, r)
	if err != nil {
		return err
	}
	output, input := io.Pipe()
	defer func() { _ = output.Close() }()
	command.Stdout, command.Stderr = input, input
	go func() { _ = input.CloseWithError(command.Run()) }()
	err = readOutput(output, log, func(test string, passed bool) error { return t.record.ended(r.directory, test, passed) })
	// Whoever ended us wants no judgement; otherwise a panic or a timeout has ended the tests.
	if ctx.Err() != nil {
		return fmt.Errorf("run test/%s: %w", r.directory, ctx.Err())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("run test/%s: %w", r.directory, err)
	}
	fmt.Printf("test/%s took %s\n", r.directory, time.Since(begin).Round(time.Second))
	if err != nil {
		fmt.Printf("test/%s failed: %s\n", r.directory, logFile)
	}
	return t.record.closed(r)
}

// command runs tests on the control plane of the release.
func (t *trial) command(ctx context.Context, r run) (*exec.Cmd, error) {
	binary, err := filepath.Abs(t.file(r.directory, ".test"))
	if err != nil {
		return nil, fmt.Errorf("resolve compiled tests: %w", err)
	}
	args := []string{"-test.v=test2json", "-test.timeout=60m", "-test.run=^(" + strings.Join(r.tests, "|") + ")$"}
	if t.minor < nativePodGroupsSince && slices.Contains([]string{podGroups, deployment, kubectl}, r.directory) {
		args = append(args, "-without-native-podgroups")
	}
	command := exec.CommandContext(ctx, binary, args...)
	command.WaitDelay = 10 * time.Second // its clusters end with it
	command.Dir = filepath.Join("test", r.directory)
	command.Env = os.Environ()
	if t.controlPlane != "" {
		directory, err := filepath.Abs(t.controlPlane)
		if err != nil {
			return nil, fmt.Errorf("resolve directory of the control plane: %w", err)
		}
		command.Env = append(command.Env, "PODSEQUENCE_CONTROL_PLANE="+directory)
	}
	return command, nil
}

// endOfTest is what the testing package prints, with a mark that it prints nowhere else, when a test ends; not of a subtest.
var endOfTest = regexp.MustCompile("\x16--- (PASS|FAIL|SKIP): ([^ /]+) \\(")

// readOutput copies what tests print to a log, and says of each test when it ends whether it passed.
func readOutput(output io.Reader, log io.Writer, ended func(test string, passed bool) error) error {
	lines := bufio.NewReader(output)
	for {
		line, err := lines.ReadString('\n')
		if _, err := io.WriteString(log, strings.ReplaceAll(line, "\x16", "")); err != nil {
			return fmt.Errorf("write log: %w", err)
		}
		if end := endOfTest.FindStringSubmatch(line); end != nil {
			if err := ended(end[2], end[1] == "PASS"); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

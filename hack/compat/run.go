package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// nativePodGroupsSince is the minor version that serves the PodGroups which our tests create.
const nativePodGroupsSince = 37

// passes are the tests that passed, by the directory that they are in.
type passes map[string]map[string]bool

// works reports whether all tests of a feature passed.
func (f feature) works(passed passes) bool {
	for _, r := range f.runs {
		for _, test := range r.tests {
			if !passed[r.directory][test] {
				return false
			}
		}
	}
	return true
}

// try runs the tests of all features, those of one package together, and prints the output of packages that fail.
func try(features []feature, minor int, controlPlane string) (passes, error) {
	tests := map[string][]string{}
	for _, f := range features {
		for _, r := range f.runs {
			tests[r.directory] = append(tests[r.directory], r.tests...)
		}
	}
	passed := passes{}
	for _, directory := range slices.Sorted(maps.Keys(tests)) {
		begin := time.Now()
		output, err := run{directory, tests[directory]}.command(minor, controlPlane)
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			return nil, fmt.Errorf("run tests of %s: %w", directory, err)
		}
		found, text := readEvents(output)
		if err != nil {
			fmt.Print(text)
		}
		passed[directory] = found
		fmt.Printf("test/%s: %s\n", directory, time.Since(begin).Round(time.Second))
	}
	return passed, nil
}

// command runs the tests on a control plane of a release.
func (r run) command(minor int, controlPlane string) (output []byte, err error) {
	args := []string{
		"test", "-json", "-count=1", "-timeout=60m", "-run", "^(" + strings.Join(r.tests, "|") + ")$", "./test/" + r.directory,
	}
	if minor < nativePodGroupsSince && slices.Contains([]string{podGroups, deployment, kubectl}, r.directory) {
		args = append(args, "-without-native-podgroups")
	}
	command := exec.Command("go", args...)
	command.Env = os.Environ()
	if controlPlane != "" {
		directory, err := filepath.Abs(controlPlane)
		if err != nil {
			return nil, fmt.Errorf("resolve directory of the control plane: %w", err)
		}
		command.Env = append(command.Env, "PODSEQUENCE_CONTROL_PLANE="+directory)
	}
	command.Stderr = os.Stderr
	return command.Output()
}

// readEvents reads the output of go test -json: the tests that passed, and everything that was printed.
func readEvents(output []byte) (passed map[string]bool, text string) {
	passed = map[string]bool{}
	var printed strings.Builder
	lines := bufio.NewScanner(bytes.NewReader(output))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var event struct{ Action, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			printed.Write(append(lines.Bytes(), '\n')) // of the compiler
			continue
		}
		printed.WriteString(event.Output)
		if event.Action == "pass" {
			passed[event.Test] = true
		}
	}
	return passed, printed.String()
}

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryTestOfAFeatureExists(t *testing.T) {
	names := map[string]bool{}
	for _, f := range features {
		assert.False(t, names[f.name], "two features are named %q", f.name)
		names[f.name] = true
		assert.Equal(t, f.since > 0, f.instead != "", "%s: say what to do before, and only then", f.name)
		for _, r := range f.runs {
			for _, test := range r.tests {
				assert.True(t, isTest(t, r.directory, test), "test/%s has no %s", r.directory, test)
			}
		}
	}
}

func isTest(t *testing.T, directory, test string) bool {
	files, err := filepath.Glob(filepath.Join("..", directory, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(content), "\nfunc "+test+"(t *testing.T)") {
			return true
		}
	}
	return false
}

func TestResultsAreThoseOfThePage(t *testing.T) {
	t.Chdir("../..")
	content, err := os.ReadFile(pageFile)
	require.NoError(t, err)
	var all []*results
	for _, minor := range minors {
		r, err := readResults(minor)
		require.NoError(t, err)
		assert.Empty(t, r.stale(), "results of features that there are no more")
		all = append(all, r)
	}
	page, err := replaceTables(string(content), tables(all))
	require.NoError(t, err)
	assert.Equal(t, page, string(content), "run `go run ./test/compat -page`")
}

func TestTheTableSaysWhatWasFoundOut(t *testing.T) {
	found := newResults("v1.36.3")
	old, recent := feature{name: "old"}, feature{name: "recent", since: 37}
	found.Features["old"] = true
	assert.Equal(t, "works", old.cell(36, found))
	assert.Equal(t, "–", recent.cell(36, found))
	assert.Equal(t, "not tried", recent.cell(37, newResults("")))
	found.Features["recent"] = false
	assert.Equal(t, "**fails**", recent.cell(37, found))
}

// What tests print is read while they run: an end is known before the output has ended.
func TestTheEndOfATestIsKnownAtOnce(t *testing.T) {
	output, input := io.Pipe()
	ends, read := make(chan string), make(chan error, 1)
	var log bytes.Buffer
	go func() {
		read <- readOutput(output, &log, func(test string, passed bool) error {
			ends <- fmt.Sprintf("%s %t", test, passed)
			return nil
		})
	}()
	say := func(text string) {
		_, err := io.WriteString(input, text)
		require.NoError(t, err)
	}
	say("\x16=== RUN   TestA\nit broke\x16--- FAIL: TestA (0.10s)\n")
	assert.Equal(t, "TestA false", <-ends)
	say("\x16--- PASS: TestB/part (0.10s)\n\x16    --- PASS: TestB/other (0.10s)\n--- PASS: TestNobody (0s)\n\x16--- PASS: TestB (0.10s)\n")
	assert.Equal(t, "TestB true", <-ends)
	say("\x16--- SKIP: TestC (0.00s)\n")
	assert.Equal(t, "TestC false", <-ends)
	say("panic")
	require.NoError(t, input.Close())
	require.NoError(t, <-read)
	assert.Contains(t, log.String(), "=== RUN   TestA\nit broke--- FAIL: TestA (0.10s)\n")
	assert.True(t, strings.HasSuffix(log.String(), "\npanic"))
}

// Of a run that is cut off there is left what it found out, and what earlier runs did.
func TestAResultIsKeptAsSoonAsItIsKnown(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("docs", 0o755))
	require.NoError(t, os.WriteFile(pageFile, []byte(beginTables+endTables), 0o644))
	two := feature{name: "two", runs: []run{of("a", "TestOne"), of("b", "TestOne", "TestTwo")}}
	one := feature{name: "one", runs: []run{of("b", "TestTwo")}}
	earlier := newResults("v1.36.3")
	earlier.Features["earlier"] = true
	record := newRecord(36, earlier, []feature{two, one})
	kept := func() map[string]bool {
		r, err := readResults(36)
		require.NoError(t, err)
		return r.Features
	}

	require.NoError(t, record.ended("a", "TestOne", true))
	assert.Empty(t, kept(), "nothing is known of a feature")
	require.NoError(t, record.ended("b", "TestTwo", true))
	assert.Equal(t, map[string]bool{"earlier": true, "one": true}, kept())
	page, err := os.ReadFile(pageFile)
	require.NoError(t, err)
	assert.Contains(t, string(page), "| 1.36.3 |", "the page follows")
	require.NoError(t, record.closed(two.runs[1]))
	assert.Equal(t, map[string]bool{"earlier": true, "one": true, "two": false}, kept(), "a test that did not end failed")
	assert.Equal(t, []string{"two"}, record.failed)
}

func TestReleasesMustBeWrittenInFull(t *testing.T) {
	minor, err := minorOf("v1.34.4")
	require.NoError(t, err)
	assert.Equal(t, 34, minor)
	for _, release := range []string{"", "1.34", "v2.34.1", "v1.x.1"} {
		_, err := minorOf(release)
		assert.ErrorContains(t, err, "is not of the form v1.MINOR.PATCH")
	}
}

// Nobody has to look up which releases can be built.
func TestModulesAreThoseOfTheTable(t *testing.T) {
	for _, minor := range minors[:len(minors)-1] {
		directory := strings.TrimSuffix(filepath.Base(resultsFile(minor)), ".json")
		content, err := os.ReadFile(filepath.Join(directory, "go.mod"))
		require.NoError(t, err)
		assert.Contains(t, string(content), "k8s.io/kubernetes v"+directory+".")
	}
	own, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes").Output()
	require.NoError(t, err)
	minor, err := minorOf(strings.TrimSpace(string(own)))
	require.NoError(t, err)
	assert.Equal(t, minors[len(minors)-1], minor, "the last column is the release that PodSequence is built on")
}

func TestAFeatureWorksIfAllItsTestsPassed(t *testing.T) {
	f := feature{runs: []run{of("a", "TestOne", "TestTwo"), of("b", "TestOne")}}
	for what, of := range map[string]struct {
		ended        outcomes
		works, known bool
	}{
		"all passed":                      {outcomes{"a": {"TestOne": true, "TestTwo": true}, "b": {"TestOne": true}}, true, true},
		"nothing ended in b":              {outcomes{"a": {"TestOne": true, "TestTwo": true}}, false, false},
		"a test did not end":              {outcomes{"a": {"TestOne": true}, "b": {"TestOne": true}}, false, false},
		"one failed, another did not end": {outcomes{"b": {"TestOne": false}}, false, true},
	} {
		works, known := f.outcome(of.ended)
		assert.Equal(t, []bool{of.works, of.known}, []bool{works, known}, what)
	}
}

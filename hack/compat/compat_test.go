package main

import (
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
	files, err := filepath.Glob(filepath.Join("../../test", directory, "*_test.go"))
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
	assert.Equal(t, page, string(content), "run `go run ./hack/compat -page`")
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

func TestEventsSayWhichTestsPassed(t *testing.T) {
	passed, text := readEvents([]byte(`# compiler
{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA","Output":"it broke\n"}
{"Action":"fail","Test":"TestA"}
{"Action":"pass","Test":"TestB"}
`))
	assert.Equal(t, map[string]bool{"TestB": true}, passed)
	assert.Equal(t, "# compiler\nit broke\n", text)
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
	assert.True(t, f.works(passes{"a": {"TestOne": true, "TestTwo": true}, "b": {"TestOne": true}}))
	assert.False(t, f.works(passes{"a": {"TestOne": true, "TestTwo": true}}), "nothing ran in b")
	assert.False(t, f.works(passes{"a": {"TestOne": true}, "b": {"TestOne": true}}))
}

package results

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestResultsAreKept(t *testing.T) {
	store := Store[Result]{Path: filepath.Join(t.TempDir(), "results.jsonl")}
	none, err := store.Load()
	require.NoError(t, err)
	assert.Empty(t, none)
	want := []Result{{Seed: 1, Commit: "c", Bindings: 3}, {Seed: 2, Violations: []string{"too early"}, Faults: map[string]int{"kill etcd": 1}}}
	for _, r := range want {
		require.NoError(t, store.Add(r))
	}
	file, err := os.OpenFile(store.Path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString(`{"seed":3,`) // as a run that was killed leaves it
	require.NoError(t, err)
	require.NoError(t, file.Close())
	got, err := store.Load()
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestThePageSumsUp(t *testing.T) {
	page := Page{Commit: "c", Machine: "2 processors", Results: []Result{
		{Bindings: 3, Asked: 5, Steps: 20, Took: time.Minute, Recovery: time.Second, Faults: map[string]int{"kill etcd": 1}},
		{Bindings: 4, Excused: 1, Asked: 6, Steps: 30, Took: time.Minute, Recovery: 3 * time.Second, Violations: []string{"too early", "again"},
			Restless: []string{"Job a/b"}, Faults: map[string]int{"kill etcd": 1, "cut watches of pods": 2}},
	}}
	var out strings.Builder
	require.NoError(t, page.Write(&out))
	for _, line := range []string{
		"| seeds | 2, in 2m0s |", "| steps played | 50 |", "| bindings judged by the referee | 7, 1 of them [excused](#the-race-that-is-excused) |",
		"| questions of the judge at the end | 11 |", "| worlds that still changed at the end | 1 |",
		"| worst recovery after the last fault | 3s |", "| seeds with a violation | 1 |", "| kill etcd | 2 |", "| cut watches of pods | 2 |",
	} {
		assert.Contains(t, out.String(), line+"\n")
	}
}

func TestThePageListsCrashes(t *testing.T) {
	page := Page{Crashes: []Crash{
		{Program: "scheduler", Method: "POST", Resource: "pods/binding", What: "binding", Kills: 20, Took: time.Minute},
		{Program: "scheduler", Method: "POST", Resource: "pods/binding", What: "binding", Kills: 20, Took: time.Minute, After: true},
		{Program: "controller", Method: "POST", Resource: "jobs", What: "a Job", Kills: 3, Took: time.Minute, After: true, Violations: []string{"x"}},
	}}
	var out strings.Builder
	require.NoError(t, page.Write(&out))
	assert.Contains(t, out.String(), "| scheduler | binding (`POST pods/binding`) | 20 | 20 | the same |\n")
	assert.Contains(t, out.String(), "| controller | a Job (`POST jobs`) | 0 | 3 | **another** |\n")
	assert.Contains(t, page.Crashes[0].String(), "killed before POST pods/binding (binding), 20 times")
	assert.Contains(t, page.Crashes[2].String(), "VIOLATED")
}

func TestAResultInOneLine(t *testing.T) {
	r := Result{Seed: 7, Took: 61 * time.Second, Steps: 40, Bindings: 9, Asked: 12, Recovery: 1500 * time.Millisecond}
	assert.Equal(t, "seed 7: kept in 1m1s; 40 steps, 9 bindings judged, 12 things asked for, recovered in 1.5s; faults: none", r.String())
	r.Violations, r.Faults = []string{"x"}, map[string]int{"kill etcd": 1, "cut watches of pods": 1}
	assert.Contains(t, r.String(), "VIOLATED 1 times")
	assert.Contains(t, r.String(), "faults: cut watches of pods, kill etcd")
}

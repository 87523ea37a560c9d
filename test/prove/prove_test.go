package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/podsequence/test/prove/plan"
	"example.com/podsequence/test/prove/results"
)

func TestAPlanThatIsPrintedCanBeRead(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-seed=7", "-print"}, &out))
	read, err := plan.Parse(out.String())
	require.NoError(t, err)
	assert.EqualValues(t, 7, read.Seed)
	path := filepath.Join(t.TempDir(), "plan")
	require.NoError(t, os.WriteFile(path, out.Bytes(), 0o600))
	var again bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-plan", path, "-print"}, &again))
	assert.Equal(t, out.String(), again.String())
}

func TestSeedsThatWerePlayedAreLeftOut(t *testing.T) {
	p := &prover{options: options{commit: "new"}, out: io.Discard, store: results.Store[results.Result]{Path: filepath.Join(t.TempDir(), "results.jsonl")}}
	for _, r := range []results.Result{
		{Seed: 1, Commit: "new"}, {Seed: 2, Commit: "old"}, {Seed: 3, Commit: "new", Violations: []string{"too early"}},
	} {
		require.NoError(t, p.store.Add(r))
	}
	left, err := p.leaveOutPlayed([]*plan.Plan{{Seed: 1}, {Seed: 2}, {Seed: 3}, {Seed: 4}})
	require.NoError(t, err)
	assert.Equal(t, []*plan.Plan{{Seed: 2}, {Seed: 3}, {Seed: 4}}, left)
}

func TestThePageKeepsWhatPeopleWrote(t *testing.T) {
	dir := t.TempDir()
	p := &prover{options: options{commit: "c", page: filepath.Join(dir, "proof.md")}, store: results.Store[results.Result]{Path: filepath.Join(dir, "results.jsonl")}}
	require.NoError(t, p.store.Add(results.Result{Seed: 1, Commit: "c", Steps: 30}))
	require.NoError(t, p.store.Add(results.Result{Seed: 2, Commit: "other", Steps: 30}))
	require.NoError(t, os.WriteFile(p.page, []byte("before\n"+pageBegin+"old\n"+pageEnd+"after\n"), 0o600))
	require.NoError(t, p.writePage())
	content, err := os.ReadFile(p.page)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(content), "before\n"+pageBegin))
	assert.True(t, strings.HasSuffix(string(content), pageEnd+"after\n"))
	assert.Contains(t, string(content), "| steps played | 30 |")
	assert.NotContains(t, string(content), "old")

	require.NoError(t, os.WriteFile(p.page, []byte("no such lines"), 0o600))
	assert.ErrorContains(t, p.writePage(), "find the part of")
}

func TestFaultsAreCountedByTheirBeginning(t *testing.T) {
	read, err := plan.Parse("at 1s kill etcd\nat 2s start etcd\nat 2s delay pods 1s\nat 3s delay pods 0s\nat 3s refuse 403\nat 4s refuse 0\n" +
		"at 4s cut pods\nat 5s delete Pod a/b\nat 5s travel a-1 2s\nat 6s travel a-1 0s\nat 7s remove-definition podsequences\n" +
		"at 8s restore-definition podsequences\nat 8s crash-before POST pods/binding\nat 9s crash-after PATCH pods")
	require.NoError(t, err)
	assert.Equal(t, map[string]int{
		"kill etcd": 1, "delay watches of pods": 1, "refuse 403": 1, "cut watches of pods": 1, "second API server that lags, for a-1": 1,
		"remove-definition podsequences": 1, "crash-after PATCH pods": 1,
	}, countFaults(read.Steps, read.Steps[len(read.Steps)-1:]))
}

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryChangeCanBeMade(t *testing.T) {
	t.Chdir("../..")
	seen := map[string]bool{}
	for _, m := range mutants() {
		_, text, err := m.changed()
		if !assert.NoError(t, err) {
			continue
		}
		assert.NotContains(t, seen, text, "%s is there twice", m)
		seen[text] = true
		assert.NotEmpty(t, m.breaks)
		assert.DirExists(t, m.judge.pkg, m)
	}
	assert.GreaterOrEqual(t, len(mutants()), 40)
}

func TestChangedNeedsTheTextOnce(t *testing.T) {
	pkg := t.TempDir()
	for name, text := range map[string]string{"a.go": "one two", "b.go": "two three three", "a_test.go": "one"} {
		require.NoError(t, os.WriteFile(filepath.Join(pkg, name), []byte(text), 0o600))
	}
	file, text, err := mutant{pkg: pkg, old: "one", new: "five"}.changed()
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(pkg, "a.go"), file)
	assert.Equal(t, "five two", text)
	for _, old := range []string{"two", "three", "four"} {
		_, _, err := mutant{pkg: pkg, old: old}.changed()
		assert.ErrorContains(t, err, "adjust the list")
	}
}

func TestFailedNamesTests(t *testing.T) {
	assert.Equal(t, []string{"`TestA`", "oracle", "scenario `chain`"}, failed([]byte(`--- FAIL: TestScenarios (0.01s)
    --- FAIL: TestScenarios/chain (0.00s)
        datadriven.go:1: no
--- FAIL: TestA (0.00s)
    --- FAIL: TestA/one_more (0.00s)
--- FAIL: TestEngineAgreesWithOracleOnNodes (0.00s)
--- FAIL: TestEngineAgreesWithOracle (0.00s)
FAIL
`)))
	assert.Equal(t, []string{endless}, failed([]byte("panic: test timed out after 5m0s\nrunning tests:\n\tTestA (5m0s)\n")))
	assert.Equal(t, []string{"a panic"}, failed([]byte("panic: nil map\n\ngoroutine 7 [running]:\n")))
}

func TestResultsAreKept(t *testing.T) {
	k := kept{filepath.Join(t.TempDir(), "results")}
	_, known := k.load("text")
	assert.False(t, known)
	require.NoError(t, k.store("text", []string{"`TestA`"}))
	caughtBy, known := k.load("text")
	assert.True(t, known)
	assert.Equal(t, []string{"`TestA`"}, caughtBy)
	_, known = k.load("another text")
	assert.False(t, known)
}

func TestWritePageKeepsTheRest(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(page, []byte("before\n"+pageBegin+"old\n"+pageEnd+"after\n"), 0o600))
	results := []result{
		{mutant: mutant{pkg: "pkg/a/", breaks: "one"}, caughtBy: []string{"`TestA`"}},
		{mutant: mutant{pkg: "pkg/b/", breaks: "two"}},
		{mutant: mutant{pkg: "pkg/c/", breaks: "three", harmless: "it is the same"}},
	}
	require.NoError(t, writePage(page, "0123456", results, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)))
	written, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, "before\n"+pageBegin+`3 mutants: 1 caught, 1 survived, 1 harmless, on 2026-01-02 at commit `+"`0123456`"+`.

| package | what is wrong with the change | caught by |
|---|---|---|
| `+"`a` | one | `TestA`"+` |
| `+"`b`"+` | two | **nobody** |
| `+"`c`"+` | three | nobody: it is the same |
`+pageEnd+"after\n", string(written))
	assert.False(t, results[1].isAsListed())
	assert.True(t, results[2].isAsListed())
}

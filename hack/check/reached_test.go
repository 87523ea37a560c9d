package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReachedBy(t *testing.T) {
	tests, harness := []string{"x_test.go"}, starters[0]
	all := []aPackage{
		{ImportPath: "m/rules", Dir: "rules", TestGoFiles: tests},
		{ImportPath: "m/engine", Dir: "engine", Imports: []string{"m/rules"}, TestGoFiles: tests},
		{ImportPath: "m/cmd", Dir: "cmd", Imports: []string{"m/engine"}, XTestGoFiles: tests},
		{ImportPath: "m/text", Dir: "text", TestGoFiles: tests},
		{ImportPath: "m/builders", Dir: "builders"},
		{ImportPath: "m/other", Dir: "other", XTestImports: []string{"m/builders"}, XTestGoFiles: tests},
		{ImportPath: "m/story", Dir: "story", TestImports: []string{harness}, Imports: []string{"m/engine"}, TestGoFiles: tests},
		{ImportPath: harness, Dir: "harness"},
		{ImportPath: readers[0], Dir: "readers", TestGoFiles: tests},
	}
	for name, tc := range map[string]struct {
		files []string
		want  reach
	}{
		"a rule is tested in all packages above it, except on a control plane": {
			files: []string{"rules/rule.go"},
			want: reach{
				changed:        []string{"rules"},
				tested:         []string{"m/rules", "m/engine", "m/cmd", readers[0]},
				onControlPlane: []string{"m/story"},
			},
		},
		"a scenario is tested alone, and there is nothing to lint": {
			files: []string{"engine/testdata/waits/one.txt"},
			want:  reach{tested: []string{"m/engine", readers[0]}},
		},
		"a test is tested alone": {
			files: []string{"rules/rule_test.go"},
			want:  reach{changed: []string{"rules"}, tested: []string{"m/rules", readers[0]}},
		},
		"what only tests import has those tests run": {
			files: []string{"builders/pods.go"},
			want:  reach{changed: []string{"builders"}, tested: []string{"m/other", readers[0]}},
		},
		"a page of the documentation reaches only what reads all files": {
			files: []string{"docs/concepts.md"},
			want:  reach{tested: []string{readers[0]}},
		},
		"nothing is tested if nothing changed": {},
		"the harness reaches what needs a control plane only": {
			files: []string{"harness/story.go"},
			want:  reach{changed: []string{"harness"}, tested: []string{readers[0]}, onControlPlane: []string{"m/story"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, reachedBy(tc.files, all))
		})
	}
}

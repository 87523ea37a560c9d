package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const changelog = `# Changes

By release.

## Unreleased

- Nothing yet.

## v1.10.0

- Not this one.

## [v1.1.0] 2026-11-27

Order

- A new field, see [semantics](docs/semantics.md#objects) and [the site](https://example.com/).
- **Before you upgrade**, read [below](#v100).

## v1.0.0
`

func TestNotesAreTheSectionOfTheVersion(t *testing.T) {
	for name, test := range map[string]struct{ version, want, fails string }{
		"a section is found": {version: "v1.1.0", want: `Order

- A new field, see [semantics](https://git.example.com/team/podsequence/blob/v1.1.0/docs/semantics.md#objects) and [the site](https://example.com/).
- **Before you upgrade**, read [below](#v100).
`},
		"a version is no prefix of another": {version: "v1.1", fails: "the changelog has no section v1.1"},
		"an empty section is refused":       {version: "v1.0.0", fails: "the section v1.0.0 of the changelog is empty"},
		"a version must be given":           {fails: "-version or -repository is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			source := filepath.Join(directory, "CHANGELOG.md")
			require.NoError(t, os.WriteFile(source, []byte(changelog), 0o644))
			err := run([]string{"notes", "-dir", directory, "-changelog", source, "-version", test.version,
				"-repository", "https://git.example.com/team/podsequence"}, nil, nil)
			if test.fails != "" {
				require.ErrorContains(t, err, test.fails)
				return
			}
			require.NoError(t, err)
			notes, err := os.ReadFile(filepath.Join(directory, notesFile))
			require.NoError(t, err)
			assert.Equal(t, test.want, string(notes))
		})
	}
}

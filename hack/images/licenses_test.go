package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The standard library has copies of packages, and programs are built from their modules as well.
func TestACopyInTheStandardLibraryHasTheLicenceOfGo(t *testing.T) {
	t.Parallel()
	goRoot, module := t.TempDir(), t.TempDir()
	copied := filepath.Join(goRoot, "src", "vendor", "example.com", "text")
	require.NoError(t, os.MkdirAll(copied, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(goRoot, "LICENSE"), []byte("Of Go"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(module, "LICENSE"), []byte("Of the module"), 0o644))

	found, err := collectLicenses([]goPackage{
		{ImportPath: "vendor/example.com/text", Dir: copied, Standard: true},
		{ImportPath: "example.com/text", Dir: module, Module: &goModule{Path: "example.com/text", Dir: module}},
	})
	require.NoError(t, err)
	assert.Equal(t, licenses{
		"std":              {"LICENSE": []byte("Of Go")},
		"example.com/text": {"LICENSE": []byte("Of the module")},
	}, found)
}

func TestNoticesHaveEachTextOnceBelowAllItsFiles(t *testing.T) {
	notices := string(licenses{
		"std":               {"LICENSE": []byte("Of Go\n")},
		"example.com/text":  {"LICENSE": []byte("Do what you like.\n"), "NOTICE": []byte("By somebody\n")},
		"example.com/other": {"inner/COPYING": []byte("Do what you like.\n")},
	}.notices("tool"))
	line := strings.Repeat("-", 80)
	assert.Equal(t, strings.Join([]string{
		"tool is built from these Go modules and from the standard library (std).", "",
		line, "example.com/other/inner/COPYING", "example.com/text/LICENSE", line, "", "Do what you like.", "",
		line, "example.com/text/NOTICE", line, "", "By somebody", "",
		line, "std/LICENSE", line, "", "Of Go", "",
	}, "\n"), notices)
}

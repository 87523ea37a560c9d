// Package docs tests that the documentation speaks of what there is.
package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// root is the directory of the module.
const root = "../.."

var testName = regexp.MustCompile(`\bTest[A-Z]\w*`)

// A promise whose test has been renamed or removed looks tested and is not.
func TestEveryTestThatIsNamedExists(t *testing.T) {
	tests := allTests(t)
	named := 0
	for _, p := range pages(t) {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p.File)))
		require.NoError(t, err)
		for i, line := range strings.Split(string(text), "\n") {
			for _, name := range testName.FindAllString(line, -1) {
				named++
				assert.True(t, tests[name], "%s:%d names %s, which does not exist", p.File, i+1, name)
			}
		}
	}
	assert.NotZero(t, named)
}

// allTests are the names of all tests of the module.
func allTests(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && function.Recv == nil && testName.MatchString(function.Name.Name) {
				tests[function.Name.Name] = true
			}
		}
		return nil
	})
	require.NoError(t, err)
	return tests
}

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reasonName is what constants of reasons are called.
var reasonName = regexp.MustCompile(`^(Reason|Event)[A-Z]`)

// Whoever is shown a reason looks it up.
func TestEveryReasonIsExplained(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "troubleshooting.md"))
	require.NoError(t, err)
	explained := string(page)
	found := 0
	for _, directory := range []string{"apis", "pkg/controllers"} {
		for place, reason := range stringConstants(t, filepath.Join(root, directory)) {
			if _, name, _ := strings.Cut(place, " "); reasonName.MatchString(name) {
				found++
				assert.True(t, strings.Contains(explained, "`"+reason+"`"), "docs/troubleshooting.md does not explain %s of %s", reason, place)
			}
		}
	}
	assert.Greater(t, found, 60)
}

// stringConstants are the constants below a directory that are written as strings, by file and name.
func stringConstants(t *testing.T, directory string) map[string]string {
	t.Helper()
	constants := map[string]string{}
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 {
				return true
			}
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					return true
				}
				constants[path+" "+spec.Names[0].Name] = text
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
	return constants
}

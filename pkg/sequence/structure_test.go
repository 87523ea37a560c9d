package sequence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The package comment lists the files from the top down. What a file needs is in itself, in a file of its line, or further down.
func TestFilesBuildOnEachOtherFromTheTopDown(t *testing.T) {
	fset, files := parsePackage(t)
	lines := linesOfFiles(t, files["doc.go"])
	for name := range files {
		_, listed := lines[name]
		assert.True(t, listed || name == "doc.go", "the package comment does not list %s", name)
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", exportData(t))}
	checked, err := config.Check("example.com/podsequence/pkg/sequence", fset, slices.Collect(maps.Values(files)), &info)
	require.NoError(t, err)

	upward := map[string][]string{}
	for use, object := range info.Uses {
		if object.Pkg() != checked {
			continue
		}
		from, to := filepath.Base(fset.Position(use.Pos()).Filename), filepath.Base(fset.Position(object.Pos()).Filename)
		if isLocal := object.Parent() != nil && object.Parent() != checked.Scope(); !isLocal && lines[from] > lines[to] {
			pair := fmt.Sprintf("%s uses what is in %s", from, to)
			upward[pair] = append(upward[pair], object.Name())
		}
	}
	assert.Empty(t, upward)
}

func parsePackage(t *testing.T) (*token.FileSet, map[string]*ast.File) {
	fset, files := token.NewFileSet(), map[string]*ast.File{}
	names, err := fs.Glob(os.DirFS("."), "*.go")
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		require.NoError(t, err)
		files[name] = file
	}
	return fset, files
}

// linesOfFiles returns the line of the package comment, from its top, that lists a file.
func linesOfFiles(t *testing.T, doc *ast.File) map[string]int {
	_, list, found := strings.Cut(doc.Doc.Text(), "# Files\n")
	require.True(t, found)
	list, _, _ = strings.Cut(list, "\n# ")
	lines := map[string]int{}
	for number, line := range strings.Split(list, "\n") {
		if !strings.HasPrefix(line, "\t") {
			continue
		}
		for _, name := range regexp.MustCompile(`\w+\.go`).FindAllString(line, -1) {
			lines[name] = number
		}
	}
	return lines
}

// exportData finds what the compiler has written about the packages that this one imports.
func exportData(t *testing.T) importer.Lookup {
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export", ".")
	list.Stderr = t.Output()
	out, err := list.Output()
	require.NoError(t, err)
	exports := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var dependency struct{ ImportPath, Export string }
		require.NoError(t, decoder.Decode(&dependency))
		exports[dependency.ImportPath] = dependency.Export
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
}

// Command walls prints, for each package below some directories, how many files it has, and how many of its methods stand in another file
// than their type. A reader looks for a method beside its type. Packages of modules in the module cache can be given to compare with.
//
//	go run ./hack/walls [-most PERCENT] DIRECTORY...
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// tally is what is counted of a package.
type tally struct{ files, methods, away int }

func (t tally) share() float64 { return 100 * float64(t.away) / float64(max(1, t.methods)) }

func main() {
	most := flag.Float64("most", 100, "fail if in a package a larger `percentage` of the methods stands away from its type")
	flag.Parse()
	failed := false
	fmt.Printf("%5s %8s %5s %8s  package\n", "files", "methods", "away", "percent")
	for _, root := range flag.Args() {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() || entry.Name() == "testdata" {
				return err
			}
			t, err := count(path)
			if t.files > 0 {
				failed = failed || t.share() > *most
				fmt.Printf("%5d %8d %5d %7.0f%%  %s\n", t.files, t.methods, t.away, t.share(), path)
			}
			return err
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
	}
	if failed {
		fmt.Fprintf(os.Stderr, "error: move methods to the files of their types, so that at most %g %% stand away\n", *most)
		os.Exit(1)
	}
}

// count counts what a directory has in files that are neither tests nor generated.
func count(directory string) (tally, error) {
	t := tally{}
	paths, err := filepath.Glob(filepath.Join(directory, "*.go"))
	if err != nil {
		return t, err
	}
	homes, methods := map[string]string{}, map[*ast.FuncDecl]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return t, err
		}
		if ast.IsGenerated(file) {
			continue
		}
		t.files++
		for _, declaration := range file.Decls {
			switch d := declaration.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if named, is := spec.(*ast.TypeSpec); is {
						homes[named.Name.Name] = path
					}
				}
			case *ast.FuncDecl:
				if d.Recv != nil {
					methods[d] = path
				}
			}
		}
	}
	t.methods = len(methods)
	for method, path := range methods {
		if home := homes[receiver(method)]; home != "" && home != path {
			t.away++
		}
	}
	return t, nil
}

// receiver returns the name of the type that a method is of.
func receiver(method *ast.FuncDecl) string {
	of := method.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// starters are the packages with which tests start control planes.
var starters = []string{
	"example.com/podsequence/test/harness/cluster",
	"example.com/podsequence/tools/sandbox/controlplane",
}

// readers are the packages whose tests read the files of all others, in seconds.
var readers = []string{
	"example.com/podsequence/test/docs",
	"example.com/podsequence/test/mutants",
}

// aPackage is what `go list -json` says of a package.
type aPackage struct {
	ImportPath                         string
	Dir                                string // relative to the repository
	Imports, TestImports, XTestImports []string
	TestGoFiles, XTestGoFiles          []string
}

// packagesOf lists the packages of a module.
func packagesOf(module string) ([]aPackage, error) {
	text, err := output("go", "-C", module, "list", "-json=ImportPath,Dir,Imports,TestImports,XTestImports,TestGoFiles,XTestGoFiles", "./...")
	if err != nil {
		return nil, err
	}
	root, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	var all []aPackage
	decoder := json.NewDecoder(strings.NewReader(text))
	for {
		var p aPackage
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("decode packages of module %s: %w", module, err)
		}
		if p.Dir, err = filepath.Rel(root, p.Dir); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// reach is what some changed files have an effect on, as import paths.
type reach struct {
	// changed are the directories of the packages that have a changed Go file.
	changed []string
	// tested packages have tests, and have a changed file or import, directly or not, a package that has one, or are readers.
	tested []string
	// onControlPlane are packages like those tested whose tests need a control plane.
	onControlPlane []string
}

// reachedBy returns what the changed files reach. Files below testdata belong to the package that has this directory.
func reachedBy(files []string, all []aPackage) reach {
	// Directories: with a changed Go file; with one that other packages can import; with anything changed that its own tests read.
	changed, product, touched := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, file := range files {
		directory, _, isTestData := strings.Cut(file, "/testdata/")
		if !isTestData {
			directory = filepath.Dir(file)
		}
		isGo := !isTestData && strings.HasSuffix(file, ".go")
		if isGo || isTestData {
			touched[directory] = true
		}
		if isGo {
			changed[directory] = true
			product[directory] = product[directory] || !strings.HasSuffix(file, "_test.go")
		}
	}
	hit, cluster := map[string]bool{}, map[string]bool{}
	for _, path := range starters {
		cluster[path] = true
	}
	for _, p := range all {
		hit[p.ImportPath] = product[p.Dir]
	}
	for more := true; more; {
		more = false
		for _, p := range all {
			for _, set := range []map[string]bool{hit, cluster} {
				if !set[p.ImportPath] && imports(p.Imports, set) {
					set[p.ImportPath], more = true, true
				}
			}
		}
	}
	var r reach
	for _, p := range all {
		tests := append(slices.Clone(p.TestImports), p.XTestImports...)
		if changed[p.Dir] {
			r.changed = append(r.changed, p.Dir)
		}
		switch {
		case slices.Contains(readers, p.ImportPath):
			if len(files) > 0 {
				r.tested = append(r.tested, p.ImportPath)
			}
		case len(p.TestGoFiles)+len(p.XTestGoFiles) == 0, !touched[p.Dir] && !hit[p.ImportPath] && !imports(tests, hit):
		case cluster[p.ImportPath] || imports(tests, cluster):
			r.onControlPlane = append(r.onControlPlane, p.ImportPath)
		default:
			r.tested = append(r.tested, p.ImportPath)
		}
	}
	return r
}

func imports(list []string, set map[string]bool) bool {
	return slices.ContainsFunc(list, func(path string) bool { return set[path] })
}

package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	licenseclassifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
)

// goPackage is what go list says of a package.
type goPackage struct {
	ImportPath, Dir string
	Standard        bool
	Module          *goModule
}

// goRoot is the directory of the Go release that a package of the standard library belongs to. What go list says of its Root does
// not do: for a copy of another module that is the module, if a program is built from it as well.
func (p goPackage) goRoot() string {
	return strings.TrimSuffix(filepath.ToSlash(p.Dir), "/src/"+p.ImportPath)
}

type goModule struct {
	Path, Dir string
}

// licenseFile matches the names of files that we must hand on with what we build from other people's sources.
var licenseFile = regexp.MustCompile(`(?i)^(li[cs]en[cs]e|copying|copyright|notice|patents|authors)([._-].*)?$`)

// licenses are texts of licences and notices: by module, then by path in that module.
type licenses map[string]map[string][]byte

// collectLicenses reads the licences of all modules that the packages belong to, and of directories within them: some carry
// what they took from others. The standard library counts as the module "std".
func collectLicenses(packages []goPackage) (licenses, error) {
	found := licenses{}
	seen := map[string]bool{}
	for _, p := range packages {
		module, root := "std", p.goRoot()
		switch {
		case p.Standard:
			p.Dir = root
		case p.Module == nil:
			return nil, fmt.Errorf("the package in %s belongs to no module", p.Dir)
		default:
			module, root = p.Module.Path, p.Module.Dir
		}
		for dir := p.Dir; !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			if err := found.read(module, root, dir); err != nil {
				return nil, err
			}
			if dir == root || len(dir) <= len(root) {
				break
			}
		}
		if !found.named(module) {
			return nil, fmt.Errorf("%s has no licence in %s: its sources may not be handed on, use another module", module, root)
		}
	}
	return found, nil
}

func (l licenses) read(module, root, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look for licences: %w", err)
	}
	for _, entry := range entries {
		if entry.IsDir() || !licenseFile.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return fmt.Errorf("read licence: %w", err)
		}
		relative, err := filepath.Rel(root, filepath.Join(dir, entry.Name()))
		if err != nil {
			return fmt.Errorf("read licence: %w", err)
		}
		if l[module] == nil {
			l[module] = map[string][]byte{}
		}
		l[module][filepath.ToSlash(relative)] = text
	}
	return nil
}

// named reports whether a module has a licence, which authors and notices are not.
func (l licenses) named(module string) bool {
	for name := range l[module] {
		if isLicense(name) {
			return true
		}
	}
	return false
}

func isLicense(name string) bool {
	base := strings.ToLower(path.Base(name))
	return strings.HasPrefix(base, "lic") || strings.HasPrefix(base, "cop")
}

// files are the texts as files of an image.
func (l licenses) files() []file {
	var files []file
	for module, texts := range l {
		for name, text := range texts {
			files = append(files, file{path: path.Join("licenses", module, name), mode: 0o644, content: text})
		}
	}
	return files
}

// names returns the SPDX identifiers of a module's licences, sorted; those that nobody knows are left out.
func (l licenses) names(module string) ([]string, error) {
	var names []string
	for file, text := range l[module] {
		if !isLicense(file) {
			continue
		}
		found, err := recognizer.names(text)
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// recognizer knows licences by their texts.
var recognizer recognition

// recognition is a classifier, which may do one thing at a time, and what it has said: many modules have the same licence.
type recognition struct {
	lock       sync.Mutex
	classifier *licenseclassifier.Classifier
	known      map[string][]string
}

func (r *recognition) names(text []byte) ([]string, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.classifier == nil {
		classifier, err := assets.DefaultClassifier() // takes a second
		if err != nil {
			return nil, fmt.Errorf("load licences that are known: %w", err)
		}
		r.classifier, r.known = classifier, map[string][]string{}
	}
	names, ok := r.known[string(text)]
	if !ok {
		for _, match := range r.classifier.Match(r.classifier.Normalize(text)).Matches {
			if match.MatchType == "License" {
				names = append(names, match.Name)
			}
		}
		r.known[string(text)] = names
	}
	return names, nil
}

// notices are all texts, each once, below the names of the files that have it.
func (l licenses) notices(program string) []byte {
	names := map[string][]string{} // by text
	for module, texts := range l {
		for name, text := range texts {
			names[string(text)] = append(names[string(text)], path.Join(module, name))
		}
	}
	for _, files := range names {
		slices.Sort(files)
	}
	texts := slices.SortedFunc(maps.Keys(names), func(a, b string) int { return strings.Compare(names[a][0], names[b][0]) })
	var notices bytes.Buffer
	fmt.Fprintf(&notices, "%s is built from these Go modules and from the standard library (std).\n", program)
	for _, text := range texts {
		line := strings.Repeat("-", 80)
		fmt.Fprintf(&notices, "\n%s\n%s\n%s\n\n%s\n", line, strings.Join(names[text], "\n"), line, strings.TrimSpace(text))
	}
	return notices.Bytes()
}

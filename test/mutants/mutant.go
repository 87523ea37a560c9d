package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// mutant is a small wrong change of a package. The package is named and not the file, so that code may move.
type mutant struct {
	pkg      string // its directory
	old, new string // old is once in the files of the package that are no tests
	breaks   string // what is wrong then, as a sentence without a point
	judge    judge
	// harmless says why nobody can notice; empty if somebody must.
	harmless string
}

func (m mutant) String() string { return m.pkg + ", " + m.breaks }

// changed returns the file that changes, and its text with the change.
func (m mutant) changed() (file, text string, err error) {
	files, err := filepath.Glob(filepath.Join(m.pkg, "*.go"))
	if err != nil {
		return "", "", fmt.Errorf("look for what is to be changed: %w", err)
	}
	found := 0
	for _, candidate := range files {
		content, err := os.ReadFile(candidate)
		if err != nil {
			return "", "", fmt.Errorf("read what is to be changed: %w", err)
		}
		if n := strings.Count(string(content), m.old); n > 0 && !strings.HasSuffix(candidate, "_test.go") {
			found += n
			file, text = candidate, strings.Replace(string(content), m.old, m.new, 1)
		}
	}
	if found != 1 {
		return "", "", fmt.Errorf("%s has the text to be changed %d times: adjust the list: %q", m.pkg, found, m.old)
	}
	return file, text, nil
}

// judged runs the judge on the changed text of the file.
func (m mutant) judged(ctx context.Context, file, text string, timeout time.Duration) ([]string, error) {
	directory, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return nil, fmt.Errorf("make directory for the change: %w", err)
	}
	defer func() { _ = os.RemoveAll(directory) }()
	overlay, err := overlay(directory, file, text)
	if err != nil {
		return nil, err
	}
	return m.judge.run(ctx, overlay, timeout)
}

// overlay writes the changed file, and the file that tells Go of it.
func overlay(directory, file, text string) (path string, err error) {
	original, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", file, err)
	}
	replacement := filepath.Join(directory, filepath.Base(file))
	if err := os.WriteFile(replacement, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("write the changed file: %w", err)
	}
	content, err := json.Marshal(map[string]map[string]string{"Replace": {original: replacement}})
	if err != nil {
		return "", fmt.Errorf("write the overlay: %w", err)
	}
	path = filepath.Join(directory, "overlay.json")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return "", fmt.Errorf("write the overlay: %w", err)
	}
	return path, nil
}

// result is what became of a mutant.
type result struct {
	mutant
	caughtBy []string // sorted; empty if nobody noticed
}

// isAsListed reports whether somebody noticed who must, and nobody who cannot.
func (r result) isAsListed() bool { return (len(r.caughtBy) == 0) == (r.harmless != "") }

func (r result) String() string {
	switch {
	case !r.isAsListed() && r.harmless != "":
		return "SAID TO BE HARMLESS, caught by " + r.catchers()
	case !r.isAsListed():
		return "SURVIVED"
	case r.harmless != "":
		return "harmless"
	}
	return "caught by " + r.catchers()
}

// maxCatchers keeps a line readable.
const maxCatchers = 3

// catchers names those who noticed.
func (r result) catchers() string {
	names := r.caughtBy
	if more := len(names) - maxCatchers; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxCatchers], ", "), more)
	}
	return strings.Join(names, ", ")
}

// mutants are all of them.
func mutants() []mutant {
	return slices.Concat(ofReadiness(), ofOrder(), ofProgress(), ofPasses(), ofHold(), ofEngine(), ofMissing(), ofStarts(), ofDeadlocks(), ofObjects(), ofNodeConditions(), ofMemory(),
		ofFeed(), ofPlugin(), ofWriter(), ofControllers(), ofCommands())
}

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

// mutant is a small wrong change.
type mutant struct {
	file     string
	old, new string // old is in the file once
	breaks   string // what is wrong then, as a sentence without a point
	judge    judge
	// harmless says why nobody can notice; empty if somebody must.
	harmless string
}

func (m mutant) String() string { return m.file + ", " + m.breaks }

// changed returns the text of the file with the change.
func (m mutant) changed() (string, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return "", fmt.Errorf("read what is to be changed: %w", err)
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return "", fmt.Errorf("%s has the text to be changed %d times: adjust the list: %q", m.file, n, m.old)
	}
	return strings.Replace(string(text), m.old, m.new, 1), nil
}

// judged runs the judge on the changed text of the file.
func (m mutant) judged(ctx context.Context, text string, timeout time.Duration) ([]string, error) {
	directory, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return nil, fmt.Errorf("make directory for the change: %w", err)
	}
	defer func() { _ = os.RemoveAll(directory) }()
	overlay, err := m.overlay(directory, text)
	if err != nil {
		return nil, err
	}
	return m.judge.run(ctx, overlay, timeout)
}

// overlay writes the changed file, and the file that tells Go of it.
func (m mutant) overlay(directory, text string) (path string, err error) {
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", m.file, err)
	}
	replacement := filepath.Join(directory, filepath.Base(m.file))
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

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// minors are the columns of the table.
var minors = []int{34, 35, 36, 37}

const pageFile = "docs/versions.md"

// results are what was found out about one release.
type results struct {
	Release string `json:"release"`
	// Commit is that of the oldest result.
	Commit string `json:"commit"`
	// Features says of each that was tried whether it works.
	Features map[string]bool `json:"features"`
}

func newResults(release string) *results {
	return &results{Release: release, Features: map[string]bool{}}
}

func resultsFile(minor int) string {
	return filepath.Join("test", "compat", "results", fmt.Sprintf("1.%d.json", minor))
}

func readResults(minor int) (*results, error) {
	content, err := os.ReadFile(resultsFile(minor))
	if errors.Is(err, fs.ErrNotExist) {
		return newResults(""), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	r := newResults("")
	if err := json.Unmarshal(content, r); err != nil {
		return nil, fmt.Errorf("decode results of 1.%d: %w", minor, err)
	}
	return r, nil
}

func (r *results) write(minor int) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode results: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(resultsFile(minor)), 0o755); err != nil {
		return fmt.Errorf("make directory of results: %w", err)
	}
	if err := replaceFile(resultsFile(minor), append(content, '\n')); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

// replaceFile leaves what was there, or the new content, whenever it is interrupted.
func replaceFile(name string, content []byte) error {
	if err := os.WriteFile(name+".new", content, 0o644); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// writePage replaces the generated part of the page.
func writePage() error {
	var all []*results
	for _, minor := range minors {
		r, err := readResults(minor)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	content, err := os.ReadFile(pageFile)
	if err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	page, err := replaceTables(string(content), tables(all))
	if err != nil {
		return err
	}
	if err := replaceFile(pageFile, []byte(page)); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

const (
	beginTables = "<!-- written by make compat -->\n"
	endTables   = "<!-- end of what make compat writes -->\n"
)

func replaceTables(page, tables string) (string, error) {
	before, rest, found := strings.Cut(page, beginTables)
	_, after, ended := strings.Cut(rest, endTables)
	if !found || !ended {
		return "", fmt.Errorf("%s has no place for the tables: it needs the lines %q and %q", pageFile, beginTables, endTables)
	}
	return before + beginTables + tables + endTables + after, nil
}

// tables have a row for each feature and a column for each release.
func tables(all []*results) string {
	var b strings.Builder
	group := ""
	for _, f := range features {
		if f.group != group {
			group = f.group
			fmt.Fprintf(&b, "\n| %s |", group)
			for i, minor := range minors {
				name := fmt.Sprintf("1.%d", minor)
				if all[i].Release != "" {
					name = strings.TrimPrefix(all[i].Release, "v")
				}
				fmt.Fprintf(&b, " %s |", name)
			}
			fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat("---|", len(minors)))
		}
		fmt.Fprintf(&b, "| %s |", f.name)
		for i, minor := range minors {
			fmt.Fprintf(&b, " %s |", f.cell(minor, all[i]))
		}
		b.WriteString("\n")
	}
	var commits []string
	for _, r := range all {
		if r.Release != "" {
			commits = append(commits, fmt.Sprintf("%s at commit `%s`", strings.TrimPrefix(r.Release, "v"), r.Commit))
		}
	}
	fmt.Fprintf(&b, "\nThese results are of %s.\n", strings.Join(commits, ", "))
	b.WriteString("\n| before | missing | instead |\n|---|---|---|\n")
	for _, f := range features {
		if f.since > 0 {
			fmt.Fprintf(&b, "| 1.%d | %s | %s |\n", f.since, f.name, f.instead)
		}
	}
	b.WriteString("\n")
	return b.String()
}

// stale are the results of features that there are no more.
func (r *results) stale() (names []string) {
	for name := range r.Features {
		if !slices.ContainsFunc(features, func(f feature) bool { return f.name == name }) {
			names = append(names, name)
		}
	}
	return names
}

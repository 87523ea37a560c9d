package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// The part of the page that is written stands between these lines.
const (
	pageBegin = "<!-- written by make mutants: begin -->\n"
	pageEnd   = "<!-- written by make mutants: end -->\n"
)

// summary says in one line what came of all of them.
func summary(results []result) string {
	caught, harmless := 0, 0
	for _, r := range results {
		switch {
		case len(r.caughtBy) > 0:
			caught++
		case r.harmless != "":
			harmless++
		}
	}
	text := fmt.Sprintf("%d mutants: %d caught, %d survived", len(results), caught, len(results)-caught-harmless)
	if harmless > 0 {
		text += fmt.Sprintf(", %d harmless", harmless)
	}
	return text
}

// writePage writes the results into the page.
func writePage(path, commit string, results []result, now time.Time) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	before, rest, found := strings.Cut(string(text), pageBegin)
	_, after, ended := strings.Cut(rest, pageEnd)
	if !found || !ended {
		return fmt.Errorf("find the part of %s to write: it has no lines %q and %q", path, strings.TrimSpace(pageBegin), strings.TrimSpace(pageEnd))
	}
	if err := os.WriteFile(path, []byte(before+pageBegin+section(commit, results, now)+pageEnd+after), 0o644); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// section is the part of the page.
func section(commit string, results []result, now time.Time) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s, on %s at commit `%s`.\n\n| package | what is wrong with the change | caught by |\n|---|---|---|\n", summary(results), now.UTC().Format(time.DateOnly), commit)
	for _, r := range results {
		by := r.catchers()
		switch {
		case len(r.caughtBy) > 0:
		case r.harmless != "":
			by = "nobody: " + r.harmless
		default:
			by = "**nobody**"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", strings.TrimSuffix(strings.TrimPrefix(r.pkg, "pkg/"), "/"), r.breaks, by)
	}
	return out.String()
}

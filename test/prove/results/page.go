package results

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

func sortedKeys(counts map[string]int) []string { return slices.Sorted(maps.Keys(counts)) }

// Page is what docs/proof/long-runs.md is made from.
type Page struct {
	Date    time.Time
	Commit  string
	Machine string
	Results []Result
	// Crashes are in the order in which they are shown; those before and after the same write follow each other.
	Crashes []Crash
}

// Write writes the part of the page that is about the runs.
func (p *Page) Write(out io.Writer) error {
	var bindings, asked, excused, steps, raced, violated, restless int
	var worst, took time.Duration
	faults := map[string]int{}
	for _, r := range p.Results {
		bindings, asked, excused, steps = bindings+r.Bindings, asked+r.Asked, excused+r.Excused, steps+r.Steps
		raced += r.Raced
		took, worst = took+r.Took, max(worst, r.Recovery)
		if len(r.Violations) > 0 {
			violated++
		}
		if len(r.Restless) > 0 {
			restless++
		}
		for name, count := range r.Faults {
			faults[name] += count
		}
	}
	lines := []string{
		"| | |", "|---|---|",
		"| date | " + p.Date.UTC().Format(time.DateOnly) + " |",
		"| commit | " + p.Commit + " |",
		"| machine | " + p.Machine + " |",
		fmt.Sprintf("| seeds | %d, in %s |", len(p.Results), took.Round(time.Minute)),
		fmt.Sprintf("| steps played | %d |", steps),
		fmt.Sprintf("| bindings judged by the referee | %d, %d of them [excused](#the-race-that-is-excused) |", bindings, excused),
		fmt.Sprintf("| pods of other schedulers that lost their gate while a sequence that would have held them was created or changed | %d |", raced),
		fmt.Sprintf("| questions of the judge at the end | %d |", asked),
		fmt.Sprintf("| worlds that still changed at the end | %d |", restless),
		fmt.Sprintf("| worst recovery after the last fault | %s |", worst.Round(100*time.Millisecond)),
		fmt.Sprintf("| seeds with a violation | %d |", violated),
		"", "| fault | times |", "|---|---|",
	}
	for _, name := range sortedKeys(faults) {
		lines = append(lines, fmt.Sprintf("| %s | %d |", name, faults[name]))
	}
	lines = append(lines, p.crashes()...)
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return fmt.Errorf("write page: %w", err)
		}
	}
	return nil
}

// crashes are the lines about kills around writes.
func (p *Page) crashes() []string {
	if len(p.Crashes) == 0 {
		return nil
	}
	lines := []string{"", "Killed around each write, see [below](#killed-around-each-write):", "", "| program | write | killed before | killed after | the end |", "|---|---|---|---|---|"}
	type key struct{ program, method, resource, what string }
	type row struct {
		before, after int
		end           string
	}
	rows, keys := map[key]*row{}, []key{}
	for _, c := range p.Crashes {
		k := key{c.Program, c.Method, c.Resource, c.What}
		if rows[k] == nil {
			rows[k], keys = &row{end: "the same"}, append(keys, k)
		}
		r := rows[k]
		if c.After {
			r.after += c.Kills
		} else {
			r.before += c.Kills
		}
		if len(c.Violations) > 0 {
			r.end = "**another**"
		}
	}
	for _, k := range keys {
		r := rows[k]
		lines = append(lines, fmt.Sprintf("| %s | %s (`%s %s`) | %d | %d | %s |", k.program, k.what, k.method, k.resource, r.before, r.after, r.end))
	}
	return lines
}

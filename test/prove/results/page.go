package results

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

func sortedKeys(counts map[string]int) []string { return slices.Sorted(maps.Keys(counts)) }

// Page is what docs/proof.md is made from.
type Page struct {
	Date    time.Time
	Commit  string
	Machine string
	Results []Result
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
		if r.Restless {
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
		fmt.Sprintf("| bindings judged by the referee | %d, %d of them excused as races |", bindings, excused),
		fmt.Sprintf("| pods of other schedulers that lost their gate while a sequence came or changed that would have held them | %d |", raced),
		fmt.Sprintf("| things asked for at the end | %d |", asked),
		fmt.Sprintf("| worlds that still changed at the end | %d |", restless),
		fmt.Sprintf("| worst recovery after the last fault | %s |", worst.Round(100*time.Millisecond)),
		fmt.Sprintf("| seeds with a violation | %d |", violated),
		"", "| fault | times |", "|---|---|",
	}
	for _, name := range sortedKeys(faults) {
		lines = append(lines, fmt.Sprintf("| %s | %d |", name, faults[name]))
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return fmt.Errorf("write page: %w", err)
		}
	}
	return nil
}

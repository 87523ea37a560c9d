package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// measurement is what one variant showed in one turn.
type measurement struct {
	// figures by their names, which end with their unit.
	figures map[string]float64
	// curve is the shape of it, if it has one.
	curve []point
}

type point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// claim is what a row says about its variants: a figure of one, or how many times that of another it is.
type claim struct {
	// text says what is compared.
	text string
	// figure of the variant of.
	of, figure string
	// to is the variant to divide by; empty for no division, unless toFigure is set.
	to string
	// toFigure is the figure to divide by; empty for figure.
	toFigure string
	// atMost and atLeast are the aim: one of them is set.
	atMost, atLeast *float64
}

// result is what was measured for a row, as it is stored.
type result struct {
	Row int `json:"row"`
	// Work says that work was counted, and not time.
	Work     bool      `json:"work,omitempty"`
	Name     string    `json:"name"`
	Question string    `json:"question"`
	Date     string    `json:"date"`
	Commit   string    `json:"commit"`
	Machine  string    `json:"machine"`
	Findings []finding `json:"findings"`
	Axes     axes      `json:"axes"`
	// Curves are of the last turn.
	Curves []curve `json:"curves,omitempty"`
	// Figures by variant, then by their names.
	Figures map[string]map[string]interval `json:"figures"`
	Notes   []string                       `json:"notes,omitempty"`
}

// finding is what became of a claim.
type finding struct {
	Text string `json:"text"`
	interval
	Aim string `json:"aim,omitempty"`
	Met bool   `json:"met"`
}

// axes are what the curves of a row are drawn on.
type axes struct {
	X    string `json:"x,omitempty"`
	Y    string `json:"y,omitempty"`
	LogX bool   `json:"logX,omitempty"`
	LogY bool   `json:"logY,omitempty"`
}

// curve is the shape of one variant.
type curve struct {
	Name   string  `json:"name"`
	Points []point `json:"points"`
}

// judge compares what was measured, by variant and turn, with a claim.
func (c claim) judge(measured map[string][]measurement) (finding, error) {
	var values []float64
	for turn, m := range measured[c.of] {
		value, known := m.figures[c.figure]
		if !known {
			return finding{}, fmt.Errorf("%s: %s has no %q", c.text, c.of, c.figure)
		}
		if c.to != "" || c.toFigure != "" {
			by, err := c.divisor(measured, turn)
			if err != nil {
				return finding{}, err
			}
			value /= by
		}
		values = append(values, value)
	}
	if len(values) == 0 {
		return finding{}, fmt.Errorf("%s: %s was not measured", c.text, c.of)
	}
	f := finding{Text: c.text, interval: summarize(values), Met: true}
	switch {
	case c.atMost != nil:
		f.Aim, f.Met = "≤ "+short(*c.atMost), f.Median <= *c.atMost
	case c.atLeast != nil:
		f.Aim, f.Met = atLeast+short(*c.atLeast), f.Median >= *c.atLeast
	}
	return f, nil
}

func (c claim) divisor(measured map[string][]measurement, turn int) (float64, error) {
	to, figure := c.to, c.toFigure
	if to == "" {
		to = c.of
	}
	if figure == "" {
		figure = c.figure
	}
	if turn >= len(measured[to]) {
		return 0, fmt.Errorf("%s: %s was measured less often than %s", c.text, to, c.of)
	}
	value, known := measured[to][turn].figures[figure]
	if !known || value == 0 {
		return 0, fmt.Errorf("%s: %s has no %q to compare with", c.text, to, figure)
	}
	return value, nil
}

// Verdict is what is said of a finding.
func (f finding) Verdict() string {
	switch {
	case f.Aim == "":
		return ""
	case f.Met:
		return "met"
	}
	return "**missed**"
}

// atLeast begins an aim that a value must not be below.
const atLeast = "≥ "

// atLeast reports whether less is worse.
func (f finding) atLeast() bool { return strings.HasPrefix(f.Aim, atLeast) }

// file is where the result of a row is stored.
func (r result) file(dir string) string {
	if r.Work {
		return filepath.Join(dir, fmt.Sprintf("row-%d-work.json", r.Row))
	}
	return filepath.Join(dir, fmt.Sprintf("row-%d.json", r.Row))
}

func (r result) save(dir string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("save result: %w", err)
	}
	if err := os.WriteFile(r.file(dir), append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("save result: %w", err)
	}
	return nil
}

// title is what the page calls a row.
func (r result) title() string {
	if r.Work {
		return fmt.Sprintf("%d, work", r.Row)
	}
	return fmt.Sprint(r.Row)
}

// anchor is that of the heading.
func (r result) anchor() string {
	return "row-" + strings.ReplaceAll(strings.ReplaceAll(r.title(), ",", ""), " ", "-")
}

// row is how the template names a row.
func (r result) row() string { return strings.ReplaceAll(r.title(), ", ", "-") }

// loadResults reads all results that are stored, by row.
func loadResults(dir string) ([]result, error) {
	files, err := filepath.Glob(filepath.Join(dir, "row-*.json"))
	if err != nil {
		return nil, fmt.Errorf("find results: %w", err)
	}
	var results []result
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read result: %w", err)
		}
		var r result
		if err := json.Unmarshal(content, &r); err != nil {
			return nil, fmt.Errorf("decode %s: %w", file, err)
		}
		results = append(results, r)
	}
	slices.SortFunc(results, func(a, b result) int { return cmp.Or(a.Row-b.Row, strings.Compare(a.file(dir), b.file(dir))) })
	return results, nil
}

// sortedFigures lists the figures of a variant by name.
func sortedFigures(figures map[string]interval) string {
	var parts []string
	for name, value := range figures {
		parts = append(parts, name+" "+value.String())
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

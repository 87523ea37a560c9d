package bench

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

// summaryFile is the page for users, of which two sections are made of results, from the directory of this package.
const summaryFile = "../../docs/performance.md"

// The sections of summaryFile that are made, each by the template of its name.
var summarySections = []string{"In short", "What was missed"}

//go:embed summary.tmpl
var summaryText string

// summary tells in words what was found. A word that results contradict is an error.
type summary struct {
	results []result
	// told are the missed aims of which it tells, by row and text.
	told map[string]bool
}

// writeSummary writes the sections into the page.
func writeSummary(page string, results []result) error {
	before, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	after, err := summarized(string(before), results)
	if err != nil {
		return err
	}
	if err := os.WriteFile(page, []byte(after), 0o644); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// summarized returns the page with its sections made of results.
func summarized(page string, results []result) (string, error) {
	s := &summary{results: results, told: map[string]bool{}}
	texts, err := template.New("").Funcs(template.FuncMap{
		"question": s.question, "value": s.value, "most": s.most, "highest": s.highest, "found": s.found, "missed": s.missed,
		"digits": digits, "seconds": func(ms float64) float64 { return ms / 1000 },
		"percent": func(ratio float64) string { return fmt.Sprintf("%.0f%%", 100*ratio) },
		"more":    func(ratio float64) string { return fmt.Sprintf("%.2g%%", 100*(ratio-1)) },
	}).Parse(summaryText)
	if err != nil {
		return "", fmt.Errorf("parse summary: %w", err)
	}
	for _, section := range summarySections {
		var text strings.Builder
		if err := texts.ExecuteTemplate(&text, section, nil); err != nil {
			return "", fmt.Errorf("write summary: %w", err)
		}
		heading := "\n## " + section + "\n"
		above, rest, found := strings.Cut(page, heading)
		if !found {
			return "", fmt.Errorf("write summary: the page has no heading %q", section)
		}
		_, below, _ := strings.Cut(rest, "\n## ")
		page = above + heading + "\n" + strings.TrimSpace(text.String()) + "\n\n## " + below
	}
	for _, r := range results {
		for _, f := range r.Findings {
			if !f.Met && !s.told[r.row()+f.Text] {
				return "", fmt.Errorf("write summary: row %s has missed %q, of which summary.tmpl does not tell", r.row(), f.Text)
			}
		}
	}
	return page, nil
}

// digits writes a number with three of them, and no zeros at the end.
func digits(value float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(value, 'g', 3, 64), 64) // it was written just now
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

func (s *summary) result(row string) (result, error) {
	i := slices.IndexFunc(s.results, func(r result) bool { return r.row() == row })
	if i < 0 {
		return result{}, fmt.Errorf("row %s has no result", row)
	}
	return s.results[i], nil
}

// question is what the row asks.
func (s *summary) question(row string) (string, error) {
	r, err := s.result(row)
	return r.Question, err
}

func (s *summary) figure(row, variant, figure string) (interval, error) {
	r, err := s.result(row)
	if err != nil {
		return interval{}, err
	}
	value, known := r.Figures[variant][figure]
	if !known {
		return interval{}, fmt.Errorf("row %s: %q has no figure %q", row, variant, figure)
	}
	return value, nil
}

// value is the median of a figure.
func (s *summary) value(row, variant, figure string) (float64, error) {
	value, err := s.figure(row, variant, figure)
	return value.Median, err
}

// most is the upper end of the interval of a figure.
func (s *summary) most(row, variant, figure string) (float64, error) {
	value, err := s.figure(row, variant, figure)
	if err == nil && value.High == nil {
		err = fmt.Errorf("row %s: %q of %q was measured once", row, figure, variant)
	}
	if err != nil {
		return 0, err
	}
	return *value.High, nil
}

// highest is the highest point of a curve.
func (s *summary) highest(row, name string) (float64, error) {
	r, err := s.result(row)
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(r.Curves, func(c curve) bool { return c.Name == name && len(c.Points) > 0 })
	if i < 0 {
		return 0, fmt.Errorf("row %s has no curve %q", row, name)
	}
	return slices.MaxFunc(r.Curves[i].Points, func(a, b point) int { return cmp.Compare(a.Y, b.Y) }).Y, nil
}

// found is what became of a claim.
func (s *summary) found(row, text string) (finding, error) {
	r, err := s.result(row)
	if err != nil {
		return finding{}, err
	}
	i := slices.IndexFunc(r.Findings, func(f finding) bool { return f.Text == text })
	if i < 0 {
		return finding{}, fmt.Errorf("row %s has found nothing about %q", row, text)
	}
	return r.Findings[i], nil
}

// missed is a claim whose aim was missed.
func (s *summary) missed(row, text string) (finding, error) {
	f, err := s.found(row, text)
	if err == nil && f.Met {
		return finding{}, fmt.Errorf("row %s has met %q: take it out of what was missed", row, text)
	}
	s.told[row+text] = true
	return f, err
}

package bench

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var writeBaseline = flag.Bool("write-baseline", false, "store what a trial counts as what later trials are compared with")

// tolerated is how many times the baseline a count may be.
const tolerated = 1.05

// baseline is what trials of rows that count work have counted. Counts depend on the compiler: another one needs another baseline.
type baseline struct {
	Go     string             `json:"go"`
	Counts map[string]float64 `json:"counts"`
}

func baselineFile(dir string) string { return filepath.Join(dir, "baseline.json") }

func loadBaseline(dir string) (baseline, error) {
	var known baseline
	content, err := os.ReadFile(baselineFile(dir))
	if err != nil {
		return baseline{}, fmt.Errorf("read baseline: %w", err)
	}
	if err := json.Unmarshal(content, &known); err != nil {
		return baseline{}, fmt.Errorf("decode baseline: %w", err)
	}
	return known, nil
}

// name is what a baseline calls a finding.
func (r result) name(f finding) string { return fmt.Sprintf("row %d: %s", r.Row, f.Text) }

// regressions says in words which findings are more than the baseline tolerates.
func (known baseline) regressions(r result) (all []string) {
	for _, f := range r.Findings {
		count, counted := known.Counts[r.name(f)]
		switch {
		case !counted:
			all = append(all, fmt.Sprintf("%s has no baseline: make bench SHORT=1 BASELINE=1 stores one", r.name(f)))
		case f.atLeast() && f.Median < count/tolerated:
			all = append(all, fmt.Sprintf("%s: %s, which is more than %.0f%% below the baseline, %s; if it is meant to be, make bench SHORT=1 BASELINE=1 stores it",
				r.name(f), short(f.Median), 100*(tolerated-1), short(count)))
		case !f.atLeast() && f.Median > count*tolerated:
			all = append(all, fmt.Sprintf("%s: %s, which is more than %.0f%% above the baseline, %s; if it is meant to be, make bench SHORT=1 BASELINE=1 stores it",
				r.name(f), short(f.Median), 100*(tolerated-1), short(count)))
		}
	}
	return all
}

// compare compares a trial with the baseline, or stores it.
func (r result) compare(b *testing.B) {
	b.Helper()
	if !r.Work || !testing.Short() {
		return
	}
	known, err := loadBaseline(resultsDir)
	if *writeBaseline {
		if err != nil || known.Go != runtime.Version() {
			known = baseline{Go: runtime.Version(), Counts: map[string]float64{}}
		}
		for _, f := range r.Findings {
			known.Counts[r.name(f)] = f.Median
		}
		content, err := json.MarshalIndent(known, "", "  ")
		require.NoError(b, err)
		require.NoError(b, os.WriteFile(baselineFile(resultsDir), append(content, '\n'), 0o644))
		return
	}
	require.NoError(b, err)
	require.Equal(b, known.Go, runtime.Version(), "the baseline is of another compiler: make bench SHORT=1 BASELINE=1 stores one")
	for _, regression := range known.regressions(r) {
		b.Error(regression)
	}
}

func TestACountIsComparedWithItsBaseline(t *testing.T) {
	known := baseline{Counts: map[string]float64{"row 8: an event": 1000}}
	for name, tc := range map[string]struct {
		finding finding
		want    string
	}{
		"the same is no regression":                         {finding{Text: "an event", interval: interval{Median: 1000}}, ""},
		"four percent more are none":                        {finding{Text: "an event", interval: interval{Median: 1040}}, ""},
		"less is none":                                      {finding{Text: "an event", interval: interval{Median: 500}}, ""},
		"six percent more are one":                          {finding{Text: "an event", interval: interval{Median: 1060}}, "row 8: an event: 1060, which is more than 5% above"},
		"four percent less of what should be much are none": {finding{Text: "an event", interval: interval{Median: 960}, Aim: "≥ 900"}, ""},
		"six percent less of it are one":                    {finding{Text: "an event", interval: interval{Median: 940}, Aim: "≥ 900"}, "row 8: an event: 940, which is more than 5% below"},
		"more of it is none":                                {finding{Text: "an event", interval: interval{Median: 2000}, Aim: "≥ 900"}, ""},
		"what has no baseline is a mistake":                 {finding{Text: "a question", interval: interval{Median: 1}}, "has no baseline"},
	} {
		t.Run(name, func(t *testing.T) {
			found := known.regressions(result{Row: 8, Work: true, Findings: []finding{tc.finding}})
			if tc.want == "" {
				assert.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			assert.Contains(t, found[0], tc.want)
		})
	}
}

func TestTheBaselineIsOfThisCompilerAndOfAllRowsThatCount(t *testing.T) {
	known, err := loadBaseline(resultsDir)
	require.NoError(t, err)
	assert.Equal(t, runtime.Version(), known.Go, "make bench SHORT=1 BASELINE=1 stores one of this compiler")
	for _, r := range allRows() {
		for _, c := range r.claims {
			if r.work {
				assert.Contains(t, known.Counts, result{Row: r.number}.name(finding{Text: c.text}))
			}
		}
	}
}

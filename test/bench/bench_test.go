package bench

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSummarize(t *testing.T) {
	for name, tc := range map[string]struct {
		values []float64
		want   string
	}{
		"nine measurements have an interval without the extremes":    {[]float64{9, 1, 8, 2, 7, 3, 6, 4, 5}, "5 (2 to 8)"},
		"the interval of five measurements is the range of all":      {[]float64{5, 1, 4, 2, 3}, "3 (1 to 5)"},
		"of two measurements the interval is unknown":                {[]float64{1, 2}, "1.50"},
		"one measurement is its own median":                          {[]float64{0.97}, "0.97"},
		"an outlier moves neither the median nor the interval of it": {[]float64{1, 1, 1, 1, 1, 1, 1, 1, 900}, "1 (1 to 1)"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, summarize(tc.values).String()) })
	}
}

func TestSummarizeLeavesTheOrderOfTurns(t *testing.T) {
	values := []float64{3, 1, 2}
	summarize(values)
	assert.Equal(t, []float64{3, 1, 2}, values)
}

func TestLanesDoEverythingOnce(t *testing.T) {
	for _, lanes := range []int{1, 3, 10} {
		done := make([]atomic.Int32, 7)
		var running, most atomic.Int32
		inLanes(t, lanes, len(done), func(i int) {
			for now := running.Add(1); ; {
				if before := most.Load(); now <= before || most.CompareAndSwap(before, now) {
					break
				}
			}
			done[i].Add(1)
			running.Add(-1)
		})
		for i := range done {
			assert.EqualValues(t, 1, done[i].Load(), "%d in %d lanes", i, lanes)
		}
		assert.LessOrEqual(t, int(most.Load()), lanes)
	}
}

func TestPercentile(t *testing.T) {
	values := []float64{4, 1, 3, 2}
	assert.Equal(t, 2.0, percentile(values, 50))
	assert.Equal(t, 4.0, percentile(values, 99))
	assert.Equal(t, 1.0, percentile(values, 1))
}

func turns(figure string, values ...float64) []measurement {
	var all []measurement
	for _, value := range values {
		all = append(all, measurement{figures: map[string]float64{figure: value}})
	}
	return all
}

func TestJudge(t *testing.T) {
	measured := map[string][]measurement{
		"ours": turns("s", 2, 3, 8), "theirs": turns("s", 1, 3, 4), "once": turns("s", 1),
		"growing": {{figures: map[string]float64{"small": 10, "large": 11}}},
	}
	for name, tc := range map[string]struct {
		claim    claim
		median   float64
		met      bool
		mistaken string
	}{
		"turns are compared in pairs":                {claim{of: "ours", to: "theirs", figure: "s", atMost: new(2.0)}, 2, true, ""},
		"a median above the aim misses it":           {claim{of: "ours", to: "theirs", figure: "s", atMost: new(1.9)}, 2, false, ""},
		"a median below the aim misses it":           {claim{of: "ours", to: "theirs", figure: "s", atLeast: new(2.1)}, 2, false, ""},
		"without another variant nothing is divided": {claim{of: "ours", figure: "s", atMost: new(3.0)}, 3, true, ""},
		"a figure is compared with another one":      {claim{of: "growing", figure: "large", toFigure: "small", atMost: new(1.2)}, 1.1, true, ""},
		"without an aim there is none to miss":       {claim{of: "ours", figure: "s"}, 3, true, ""},
		"an unknown figure is a mistake":             {claim{of: "ours", figure: "ms"}, 0, false, `no "ms"`},
		"an unknown variant is a mistake":            {claim{of: "nobody", figure: "s"}, 0, false, "not measured"},
		"a turn without its counterpart is one":      {claim{of: "ours", to: "once", figure: "s"}, 0, false, "less often"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := tc.claim.judge(measured)
			if tc.mistaken != "" {
				require.ErrorContains(t, err, tc.mistaken)
				return
			}
			require.NoError(t, err)
			assert.InDelta(t, tc.median, f.Median, 1e-9)
			assert.Equal(t, tc.met, f.Met)
		})
	}
}

func sample() result {
	return result{
		Row: 5, Question: "How fast <is> it?", Date: "2026-01-02", Commit: "abc", Machine: "2 processors",
		Findings: []finding{
			{Text: "ours / theirs", interval: summarize([]float64{2}), Aim: "≤ 1", Met: false},
			{Text: "ours / nobody's", interval: summarize([]float64{1}), Aim: "≤ 1", Met: true},
		},
		Figures: map[string]map[string]interval{"ours": {"s": summarize([]float64{2})}},
		Curves:  []curve{{Name: "ours & theirs", Points: []point{{1, 10}, {1000, 0}, {100000, 30}}}},
		Axes:    axes{X: "pods", Y: "seconds", LogX: true},
	}
}

func TestAPageHasWhatWasMissed(t *testing.T) {
	var page bytes.Buffer
	writePage(&page, []result{sample()})
	assert.Contains(t, page.String(), "| [5](#row-5) | How fast <is> it? | ours / theirs | 2 | ≤ 1 | **missed** |")
	assert.Contains(t, page.String(), "|  |  | ours / nobody's | 1 | ≤ 1 | met |")
	assert.Contains(t, page.String(), "benchmarks/row-5.svg")
}

func TestATrialIsNotJudged(t *testing.T) {
	var table bytes.Buffer
	printTable(&table, []result{sample()}, false)
	assert.Contains(t, table.String(), "not judged")
	assert.NotContains(t, table.String(), "missed")
}

func TestAPictureIsWellFormed(t *testing.T) {
	for name, change := range map[string]func(*result){
		"as it is":                 func(*result) {},
		"without a value above 0":  func(r *result) { r.Curves[0].Points = []point{{0, 0}}; r.Axes.LogY = true },
		"with one value only":      func(r *result) { r.Curves[0].Points = []point{{5, 5}} },
		"with a logarithmic axis":  func(r *result) { r.Axes.LogY = true },
		"with values far from 0":   func(r *result) { r.Curves[0].Points = []point{{1e6, 1e9}, {2e6, 2e9}} },
		"without any point at all": func(r *result) { r.Curves[0].Points = nil },
	} {
		t.Run(name, func(t *testing.T) {
			r := sample()
			change(&r)
			var picture bytes.Buffer
			r.draw(&picture)
			assert.NotContains(t, picture.String(), "NaN")
			assert.NotContains(t, picture.String(), "Inf")
			for decoder := xml.NewDecoder(&picture); ; {
				_, err := decoder.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err)
			}
		})
	}
}

func rivals() result {
	return result{
		Row: shopNumber, Question: "How fast?", Curves: []curve{{Name: ourWay, Points: []point{{1, 1}}}},
		Figures: map[string]map[string]interval{
			ourWay:      {untilReady: {Median: 2}, apiRequests: {Median: 1999.6}},
			"theirs <&": {untilReady: {Median: 1}, apiRequests: {Median: 0}},
			"unknown":   {},
		},
	}
}

func TestAPictureOfBars(t *testing.T) {
	var picture bytes.Buffer
	rivals().drawRivals(&picture)
	text := picture.String()
	assert.NoError(t, xml.Unmarshal(picture.Bytes(), new(struct{})))
	assert.NotContains(t, text, "NaN")
	assert.Contains(t, text, ">2,000</text>", "thousands have a comma")
	assert.Contains(t, text, `width="190.0"`, "the longest bar takes all of the width")
	assert.Less(t, strings.Index(text, "theirs &lt;&amp;"), strings.Index(text, ">PodSequence<"), "the fastest comes first")
	assert.Equal(t, 2, strings.Count(text, `class="bar own"`), "a bar for each facet is highlighted")
	assert.Contains(t, text, "prefers-color-scheme:dark", "it follows the page")
}

func TestReadableNumbers(t *testing.T) {
	for value, want := range map[float64]string{0: "0", 17.25: "17.2", 999: "999", 1000: "1,000", 4065.4: "4,065"} {
		assert.Equal(t, want, readable(value))
	}
}

func TestAStoredResultReadsTheSame(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, sample().save(dir))
	results, err := loadResults(dir)
	require.NoError(t, err)
	assert.Equal(t, []result{sample()}, results)
}

func TestResultsArePublishedWithTheirPictures(t *testing.T) {
	dir, docs := t.TempDir(), t.TempDir()
	require.NoError(t, sample().save(dir))
	plain := sample()
	plain.Row, plain.Curves = 1, nil
	require.NoError(t, plain.save(dir))
	require.NoError(t, rivals().save(dir))
	page := filepath.Join(docs, "contributing", "performance.md")
	require.NoError(t, os.Mkdir(filepath.Dir(page), 0o755))
	require.NoError(t, publish(dir, page))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Less(t, strings.Index(string(text), "## Row 1"), strings.Index(string(text), "## Row 5"), "rows are in order")
	assert.FileExists(t, filepath.Join(filepath.Dir(page), pictureFile(5)))
	assert.NoFileExists(t, filepath.Join(filepath.Dir(page), pictureFile(1)), "row 1 has no shape")
	assert.FileExists(t, filepath.Join(docs, "images", "rivals.svg"), "the picture for README")
}

// The page is written with the results. An edit by hand would be lost.
func TestThePageIsWhatItsResultsMakeIt(t *testing.T) {
	results, err := loadResults(resultsDir)
	require.NoError(t, err)
	if len(results) == 0 {
		assert.NoFileExists(t, pageFile, "a page without results")
		return
	}
	if *writeThePage {
		require.NoError(t, publish(resultsDir, pageFile))
		require.NoError(t, writeSummary(summaryFile, results))
	}
	var want bytes.Buffer
	writePage(&want, results)
	got, err := os.ReadFile(pageFile)
	require.NoError(t, err)
	assert.Equal(t, want.String(), string(got), "to write it from the stored results: go test ./test/bench -run TestThePage -write-page")
	got, err = os.ReadFile(summaryFile)
	require.NoError(t, err)
	wantSummary, err := summarized(string(got), results)
	require.NoError(t, err)
	assert.Equal(t, wantSummary, string(got), "edit test/bench/summary.tmpl, and write the page as above")
	for _, r := range results {
		if r.Row == shopNumber {
			want.Reset()
			r.drawRivals(&want)
			got, err := os.ReadFile(filepath.Join(filepath.Dir(pageFile), rivalsFile))
			require.NoError(t, err)
			assert.Equal(t, want.String(), string(got), "the picture of README")
		}
	}
}

func TestNumbersForReaders(t *testing.T) {
	for value, want := range map[float64]string{1.754: "1.75", 8.4965: "8.5", 4.002: "4", 67.678: "67.7", 221.68: "222", 11802: "11800", 0.7533: "0.753"} {
		assert.Equal(t, want, digits(value))
	}
}

func TestASummaryTellsWhatResultsSay(t *testing.T) {
	results, err := loadResults(resultsDir)
	require.NoError(t, err)
	page, err := os.ReadFile(summaryFile)
	require.NoError(t, err)
	change := func(change func(r *result)) []result {
		changed := make([]result, len(results))
		for i, r := range results {
			r.Findings = slices.Clone(r.Findings)
			change(&r)
			changed[i] = r
		}
		return changed
	}
	for name, tc := range map[string]struct {
		results []result
		want    string
	}{
		"an aim that is met is not one that was missed": {
			change(func(r *result) { r.Findings[0].Met = true }), "take it out of what was missed",
		},
		"an aim that was missed is told": {
			change(func(r *result) { r.Findings[len(r.Findings)-1].Met = false }), "of which summary.tmpl does not tell",
		},
		"there is nothing to tell of a row that was not measured": {results[1:], "has no result"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := summarized(string(page), tc.results)
			assert.ErrorContains(t, err, tc.want)
		})
	}
}

func TestRowsAreChosenByTheirNumbers(t *testing.T) {
	rows, err := parseRows(" 5, 10,")
	require.NoError(t, err)
	assert.Equal(t, []int{5, 10}, rows)
	_, err = parseRows("five")
	assert.ErrorContains(t, err, "numbers of rows")
}

// The page's links and files are named after the numbers, and `make bench ROW=n` chooses by them.
func TestRowsHaveNumbersOfTheirOwn(t *testing.T) {
	type name struct {
		number int
		work   bool
	}
	seen := map[name]bool{{number: soakRow}: true}
	for _, r := range allRows() {
		assert.False(t, seen[name{r.number, r.work}], "row %d is there twice", r.number)
		seen[name{r.number, r.work}] = true
		assert.NotEmpty(t, r.claims, "row %d", r.number)
		known := map[string]bool{"": true}
		for _, v := range r.variants {
			known[v.name] = true
		}
		for _, c := range r.claims {
			assert.True(t, known[c.of] && known[c.to], "row %d compares what it does not measure: %s", r.number, c.text)
		}
		assert.False(t, strings.Contains(r.question, "|"), "row %d would break the table", r.number)
	}
}

func TestRowsOfASeriesAreMeasuredTogether(t *testing.T) {
	var names []string
	for _, together := range bySeries(allRows()) {
		names = append(names, nameOf(together))
	}
	assert.Equal(t, []string{
		"3-held-work,4-churn-work,1-idle-work,2-batching-work", "8-growth-work", "1-idle", "2-batching", "3-held,4-churn", "5-release",
		"6-nodes", "7-requests", "8-growth", "9-restart", "10-tier", "12-shop", "13-drivers", "14-crowd",
	}, names)
}

func TestASharedVariantIsMeasuredOnceInEachTurn(t *testing.T) {
	var order []string
	noted := func(name string) variant {
		return variant{name: name, start: measureAnew(func(*testing.B, int) measurement {
			order = append(order, name)
			return measurement{figures: map[string]float64{"s": 1}}
		})}
	}
	rows := []row{
		{number: 3, turns: 2, series: "one", variants: []variant{noted("theirs"), noted("ours")}},
		{number: 4, turns: 1, series: "one", variants: []variant{noted("ours"), noted("ours, later")}},
	}
	var measured map[string][]measurement
	testing.Benchmark(func(b *testing.B) {
		order = nil // go test may run this more than once
		measured = measureTurns(b, rows, 2, 1)
	})
	assert.Equal(t, []string{"theirs", "ours", "ours, later", "ours", "ours, later", "theirs"}, order)
	assert.Len(t, measured["ours"], 2, "turns of both rows")
}

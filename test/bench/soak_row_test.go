package bench

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Variants and figures of the soak.
const (
	firstQuarter = "first quarter"
	lastQuarter  = "last quarter"

	schedulerMemory  = "scheduler, MiB"
	controllerMemory = "controller, MiB"
	medianLatency    = "Ready to binding, median ms"

	processorLoad = "percent of the processors"
	ofBoth        = "cluster and benchmark, median"
	ofOthers      = "others, median"
	mostOfBoth    = "cluster and benchmark, most in a minute"
	mostOfOthers  = "others, most in a minute"

	leaderChange = "kill of the leading scheduler"
	longestGap   = "longest s until a pod is scheduled"
	medianGap    = "median s until a pod is scheduled"

	referees     = "referees"
	outOfOrder   = "pods bound before their turn"
	bindingCount = "bindings judged"
	notJudged    = "doubts"

	wholeRun = "whole run"
)

// fewestWindows and mostWindows bound the points of a curve. Of enoughProbes a window has a percentile of its own.
const (
	fewestWindows = 12
	mostWindows   = 60
	enoughProbes  = 100
)

func (s *soak) row() row {
	r := row{
		number: soakRow, name: "soak",
		question: fmt.Sprintf("Do memory and latency grow in %s? %d nodes, %d pods, rollouts and reboots all the time, changes of leaders before",
			rounded(s.long), *soakNodes, len(s.applications)*podsPerApplication),
		axes:  axes{X: "minutes", Y: "MiB; ms; percent of the processors", LogY: true},
		notes: s.notes(),
	}
	if !s.cutShort {
		r.question += " and after"
	}
	for _, c := range []claim{
		{
			text: "percent of the processors that the cluster and the benchmark take, median",
			of:   processorLoad, figure: ofBoth, atMost: new(50.0),
		},
		{text: "memory of the scheduler, last quarter / first quarter", of: schedulerMemory, atMost: new(1.05)},
		{text: "memory of the controller, the same", of: controllerMemory, atMost: new(1.05)},
		{text: "time from Ready to binding, median, the same", of: medianLatency, atMost: new(1.1)},
		{text: fmt.Sprintf("time from Ready to binding, %dth percentile, the same", s.highPercent()), of: s.highLatency(), atMost: new(1.1)},
		{text: "milliseconds from Ready to binding in the whole run, median", of: medianLatency, figure: wholeRun},
		{text: fmt.Sprintf("the same, %dth percentile", s.highPercent()), of: s.highLatency(), figure: wholeRun},
		{text: "pods bound before their turn, and untrue records, as referees judge", of: referees, figure: outOfOrder, atMost: new(0.0)},
		{text: "what referees could not judge", of: referees, figure: notJudged, atMost: new(0.0)},
		{text: "seconds until a pod is scheduled after the leading scheduler is killed, longest", of: leaderChange, figure: longestGap},
	} {
		if c.figure == "" {
			c.figure, c.toFigure = lastQuarter, firstQuarter
		}
		if !slices.ContainsFunc(r.variants, func(v variant) bool { return v.name == c.of }) {
			r.variants = append(r.variants, variant{name: c.of})
		}
		r.claims = append(r.claims, c)
	}
	return r
}

// notes say what happened, and how it was measured.
func (s *soak) notes() []string {
	notes := []string{
		fmt.Sprintf("Applications have %d pods in three tiers, and half of them order rollouts as well (enforcementMode: Continuous). Every %.0f s "+
			"one rolls out all tiers, if the one before it has rolled out; every %.0f s one of %d nodes with a driver boots, and a new pod there "+
			"waits for the driver; every second two pods measure the time from Ready to binding, as a watch sees both. In all there were %d "+
			"rollouts, %d reboots, %d changes of the leading scheduler and as many of the controller, and %d probes, those before and after what "+
			"is measured among them.",
			podsPerApplication, rolloutEvery.Seconds(), inDuration(rebootEvery, shortRebootEvery).Seconds(), len(s.storageNodes),
			s.rollouts, s.reboots, s.leaders, len(s.latency)),
		"Memory is that of the leaders. A program that loses its lease ends, so a change of leaders begins with a new process: leaders change " +
			"before what is measured, and after it, so that it has one leader of each program. Each has a standby, with a lease of the shipped " +
			"length. Others are what else ran on the machine. The first quarter begins two minutes after the last change of leaders, so it has " +
			"the growth of young programs.",
		"Each referee watches for ten minutes and, for half a minute, beside the next one. What both count is subtracted, so the number of " +
			"bindings may be a few too low.",
	}
	if s.cutShort {
		notes = append(notes, fmt.Sprintf("It was to last %s and was interrupted after %s, so that the leaders did not change once more.",
			rounded(*soakFor), rounded(s.long)))
	}
	if len(s.order.incomplete) > 0 {
		notes = append(notes, "The referees may have missed something: "+strings.Join(s.order.incomplete, "; ")+".")
	}
	return notes
}

// rounded returns a duration as people say it: to minutes, or to seconds if it is short.
func rounded(long time.Duration) string {
	if long < 10*time.Minute {
		return long.Round(time.Second).String()
	}
	return strings.TrimSuffix(long.Round(time.Minute).String(), "0s")
}

// highPercent is the high percentile that a quarter of the probes shows.
func (s *soak) highPercent() int { return highPercentile(len(s.latencies()) / 4) }

func (s *soak) highLatency() string {
	return fmt.Sprintf("Ready to binding, p%d ms", s.highPercent())
}

func (s *soak) measured() map[string][]measurement {
	load := measurement{figures: s.load.byProgram(), curve: windows(s.load.own, mostWindows, median)}
	load.figures[ofBoth], load.figures[mostOfBoth] = median(values(s.load.own)), slices.Max(values(s.load.own))
	load.figures[ofOthers], load.figures[mostOfOthers] = median(values(s.load.others)), slices.Max(values(s.load.others))
	latencies, percent := s.latencies(), s.highPercent()
	high := func(values []float64) float64 { return percentile(values, percent) }
	parts := min(mostWindows, max(fewestWindows, len(latencies)/enoughProbes))
	return map[string][]measurement{
		processorLoad:    {load},
		schedulerMemory:  {flat(s.memory[ourScheduler], mostWindows, median)},
		controllerMemory: {flat(s.memory[ourProgram], mostWindows, median)},
		medianLatency:    {flat(latencies, parts, median)},
		s.highLatency():  {flat(latencies, parts, high)},
		referees: {{figures: map[string]float64{
			outOfOrder: float64(s.order.violations), bindingCount: float64(s.order.bindings), notJudged: float64(len(s.order.incomplete)),
		}}},
		leaderChange: {{figures: map[string]float64{longestGap: percentile(s.changes, 100), medianGap: median(s.changes)}}},
	}
}

// flat measures the first and the last quarter of a curve, and all of it.
func flat(points []point, parts int, of func([]float64) float64) measurement {
	first, last := quarters(points)
	return measurement{
		figures: map[string]float64{firstQuarter: of(first), lastQuarter: of(last), wholeRun: of(values(points))},
		curve:   windows(points, parts, of),
	}
}

func sampleSoak() *soak {
	s := &soak{
		long: 6*time.Hour + time.Second, began: time.Now(), applications: names("shop", 100), storageNodes: names("node", storageNodes),
		memory: map[string][]point{}, changes: []float64{17, 19, 18}, load: load{processors: 2}, order: order{bindings: 7},
	}
	u := usage{at: s.began, programs: map[string]time.Duration{"etcd": 0}}
	s.load.first, s.load.last = u, u
	for look := range 360 {
		minutes := time.Duration(look+1) * time.Minute
		s.load.add(minutes.Minutes(), usage{
			at: s.began.Add(minutes), programs: map[string]time.Duration{"etcd": minutes / 2}, self: minutes / 10, machine: minutes,
		})
		s.memory[ourScheduler] = append(s.memory[ourScheduler], point{X: minutes.Minutes(), Y: 500 + float64(look)})
		s.memory[ourProgram] = append(s.memory[ourProgram], point{X: minutes.Minutes(), Y: 100})
	}
	for probe := range 6 * 3600 {
		slow := 5.0
		if probe%100 < 2 {
			slow = 50 + float64(probe)/216 // which is 100 more at the end
		}
		s.latency = append(s.latency, timed{at: s.began.Add(time.Duration(probe) * time.Second), ms: slow})
	}
	// What began before, or in the last moments, does not count.
	s.latency = append(s.latency,
		timed{at: s.began.Add(-time.Second), ms: 17_000}, timed{at: s.began.Add(s.long - time.Second), ms: 17_000})
	return s
}

func TestASoakIsJudged(t *testing.T) {
	s := sampleSoak()
	measured := s.measured()
	got := map[string]string{}
	for _, c := range s.row().claims {
		f, err := c.judge(measured)
		require.NoError(t, err)
		got[c.of+" "+c.figure] = f.String() + " " + f.Verdict()
	}
	const high = "Ready to binding, p99 ms "
	assert.Equal(t, map[string]string{
		processorLoad + " " + ofBoth:         "30 met",
		schedulerMemory + " " + lastQuarter:  "1.50 **missed**",
		controllerMemory + " " + lastQuarter: "1 met",
		medianLatency + " " + lastQuarter:    "1 met",
		medianLatency + " " + wholeRun:       "5 ",
		high + lastQuarter:                   "2.20 **missed**",
		high + wholeRun:                      "100 ",
		referees + " " + outOfOrder:          "0 met",
		referees + " " + notJudged:           "0 met",
		leaderChange + " " + longestGap:      "19 ",
	}, got)
}

func TestASoakIsPublishedInFewPoints(t *testing.T) {
	s := sampleSoak()
	var r result
	testing.Benchmark(func(b *testing.B) { r = s.row().conclude(b, s.measured()) })
	assert.Len(t, r.Curves, 5)
	for _, c := range r.Curves {
		assert.LessOrEqual(t, len(c.Points), mostWindows, c.Name)
	}
	dir, docs := t.TempDir(), t.TempDir()
	require.NoError(t, r.save(dir))
	file, err := os.Stat(r.file(dir))
	require.NoError(t, err)
	assert.Less(t, file.Size(), int64(50_000))
	page := filepath.Join(docs, "contributing", "performance.md")
	require.NoError(t, os.Mkdir(filepath.Dir(page), 0o755))
	require.NoError(t, publish(dir, page))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(text), "| [11](#row-11) | "+r.Question+" | percent of the processors that the cluster and the benchmark take, "+
		"median | 30 | ≤ 50 | met |")
	picture, err := os.ReadFile(filepath.Join(filepath.Dir(page), pictureFile(soakRow)))
	require.NoError(t, err)
	assert.NoError(t, xml.Unmarshal(picture, new(struct{})))
	assert.NotContains(t, string(picture), "NaN")
}

func TestASoakSaysHowLongItWas(t *testing.T) {
	s := sampleSoak()
	assert.Contains(t, s.row().question, "in 6h0m?", "the second more is not worth a word")
	assert.NotContains(t, strings.Join(s.notes(), " "), "interrupted")
	assert.Contains(t, s.row().question, "changes of leaders before and after")
	s.long, s.cutShort = 100*time.Minute, true
	assert.Contains(t, s.row().question, "in 1h40m?")
	assert.NotContains(t, s.row().question, "and after")
	assert.Contains(t, strings.Join(s.notes(), " "), "It was to last 6h0m and was interrupted after 1h40m")
	s.long = 45 * time.Second
	assert.Contains(t, s.row().question, "in 45s?")
}

func TestAnInterruptedSoakHasWhatWasMeasured(t *testing.T) {
	s := sampleSoak()
	s.long = 100 * time.Minute
	assert.Len(t, s.latencies(), 5990, "without the last 10 s")
	assert.Equal(t, 99, s.highPercent())
	s.long = 100 * time.Second
	assert.Equal(t, 95, s.highPercent(), "a quarter has 22 probes")
}

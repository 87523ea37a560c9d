package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// sampled is a phase in which each of so many bindings took so long, and the slowest of a hundred another time.
func sampled(count int, usual, slowest time.Duration) *samples {
	s := newSamples()
	for i := range count {
		took := usual
		if i%100 < 2 { // the 99th percentile is the second of a hundred
			took = slowest
		}
		s.add(binding, took, true)
	}
	return s
}

func TestLatencyVerdict(t *testing.T) {
	const usual = 20 * time.Millisecond
	lost := sampled(enough, usual, usual)
	lost.add(binding, usual, false)
	for name, tc := range map[string]struct {
		alone, beside *samples
		control       *samples // as fast as can be if nil
		want          string
		wantJudged    int
	}{
		"as fast as alone": {
			alone: sampled(enough, usual, 2*usual), beside: sampled(enough, usual, 2*usual), want: "kept", wantJudged: 99,
		},
		"just as much slower as allowed": {
			alone: sampled(enough, usual, 2*usual), beside: sampled(enough, usual, 3*usual), want: "kept", wantJudged: 99,
		},
		"the slowest are too slow": {
			alone: sampled(enough, usual, 2*usual), beside: sampled(enough, usual, 4*usual), want: "MISSED", wantJudged: 99,
		},
		"the slowest are as slow where our programs have nothing to do": {
			alone: sampled(enough, usual, 2*usual), control: sampled(enough, usual, 4*usual), beside: sampled(enough, usual, 4*usual),
			want: "kept", wantJudged: 99,
		},
		"of few samples the slowest do not matter": {
			alone: sampled(enough/2, usual, 2*usual), beside: sampled(enough/2, usual, 4*usual), want: "kept", wantJudged: 50,
		},
		"of few samples the median matters": {
			alone: sampled(enough/2, usual, usual), beside: sampled(enough/2, 2*usual, usual), want: "MISSED", wantJudged: 50,
		},
		"one pod was never bound": {
			alone: sampled(enough, usual, usual), beside: lost, want: "MISSED: 1 never came", wantJudged: 99,
		},
		"no pod was to be bound": {
			alone: sampled(enough, usual, usual), beside: newSamples(), want: "MISSED: none was asked for", wantJudged: 50,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.control == nil {
				tc.control = sampled(enough, usual, usual)
			}
			o := outcome{phases: map[string]observation{
				alone: {samples: tc.alone}, control: {samples: tc.control}, beside: {samples: tc.beside},
			}}
			l := o.latency(binding)
			assert.Equal(t, tc.want, l.verdict())
			assert.Equal(t, tc.wantJudged, l.judged)
		})
	}
}

func TestMemoryVerdict(t *testing.T) {
	const mebibyte = 1 << 20
	for name, tc := range map[string]struct {
		beside vitals
		stored int64
		want   string
	}{
		"no more than alone":            {beside: vitals{peak: 100 * mebibyte, live: 20 * mebibyte}, want: "kept"},
		"as much more as allowed":       {beside: vitals{peak: 150 * mebibyte, live: 30 * mebibyte}, want: "kept"},
		"more than allowed":             {beside: vitals{peak: 151 * mebibyte}, want: "MISSED"},
		"more for what is stored":       {beside: vitals{peak: 160 * mebibyte, live: 40 * mebibyte}, stored: mebibyte, want: "kept"},
		"the live heap is too big":      {beside: vitals{peak: 100 * mebibyte, live: 31 * mebibyte}, want: "MISSED"},
		"the live heap is not known":    {beside: vitals{peak: 100 * mebibyte}, want: "kept"},
		"the program died once":         {beside: vitals{peak: 100 * mebibyte, deaths: 1}, want: "MISSED: died"},
		"the program died all the time": {beside: vitals{deaths: maxRestarts + 1}, want: "MISSED: dies again and again"},
	} {
		t.Run(name, func(t *testing.T) {
			o := outcome{phases: map[string]observation{
				alone:  {vitals: map[string]vitals{programs[0]: {peak: 100 * mebibyte, live: 20 * mebibyte}}},
				beside: {vitals: map[string]vitals{programs[0]: tc.beside}, hostile: tally{peak: tc.stored}},
			}}
			assert.Equal(t, tc.want, o.memory(programs[0]).verdict())
		})
	}
}

func TestSightsKeepTheFirstTime(t *testing.T) {
	seen, end := newSights(), make(chan struct{})
	seen.mark("bound")
	first, ok := seen.await(end, "bound")
	assert.True(t, ok)
	seen.mark("bound")
	again, _ := seen.await(end, "bound")
	assert.Equal(t, first, again)
	close(end)
	_, ok = seen.await(end, "never")
	assert.False(t, ok, "the phase has ended")
}

func TestTheReportHasTheProcessorTimeOfTheAPIServerBesideEachRatio(t *testing.T) {
	o := outcome{scene: scene{name: together}, phases: map[string]observation{}}
	for phase, busy := range map[string]float64{alone: 0.25, control: 0.75, beside: 1.5} {
		o.phases[phase] = observation{
			samples:  sampled(enough, 20*time.Millisecond, 20*time.Millisecond),
			programs: map[string]float64{controlplane.APIServer: busy},
		}
	}
	var out strings.Builder
	report(&out, []outcome{o})
	assert.Regexp(t, `1\.00 of p99 +kept +0\.25 +0\.75 +1\.50\n`, out.String())
}

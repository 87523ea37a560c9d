package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"example.com/podsequence/tools/sandbox/controlplane"
)

const (
	// maxRatio is how many times as long, or as much memory, as without a hostile tenant it may take beside one.
	maxRatio = 1.5
	// bytesPerByte is how much memory, besides, each byte that the hostile tenant stores may take.
	bytesPerByte = 10
)

// outcome is what was measured in one scene.
type outcome struct {
	scene  scene
	phases map[string]observation
}

// latency is what is said of one measure of one scene.
type latency struct {
	measure    measure
	median     map[string]time.Duration // by phase
	p99        map[string]time.Duration
	count      int
	unanswered int
	// judged is the percentile that the verdict is about.
	judged int
	ratio  float64
	missed bool
}

func (o outcome) latency(m measure) latency {
	l := latency{measure: m, median: map[string]time.Duration{}, p99: map[string]time.Duration{}, judged: 99}
	l.count = o.phases[beside].samples.count(m)
	for _, phase := range phases {
		s := o.phases[phase].samples
		l.median[phase], l.p99[phase] = s.percentile(m, 50), s.percentile(m, 99)
		if s.count(m) < enough {
			l.judged = 50
		}
	}
	l.unanswered = o.phases[beside].samples.unanswered[m]
	judged := l.p99
	if l.judged == 50 {
		judged = l.median
	}
	l.ratio = float64(judged[beside]) / float64(max(judged[alone], judged[control], time.Millisecond))
	l.missed = l.ratio > maxRatio || l.unanswered > 0 || l.count == 0
	return l
}

// memory is what is said of one program in one scene.
type memory struct {
	program       string
	alone, beside vitals
	stored        int64
	// died counts how often it ended, in any phase.
	died   int
	missed bool
}

func (o outcome) memory(program string) memory {
	m := memory{program: program, alone: o.phases[alone].vitals[program], beside: o.phases[beside].vitals[program]}
	m.stored = o.phases[beside].hostile.peak
	for _, phase := range o.phases {
		m.died += phase.vitals[program].deaths
	}
	m.missed = m.died > 0 || m.beside.peak > m.allowed(m.alone.peak) || m.beside.live > m.allowed(m.alone.live)
	return m
}

// allowed is how much memory a program may take beside the hostile tenant.
func (m memory) allowed(alone int64) int64 {
	return int64(maxRatio*float64(alone)) + bytesPerByte*m.stored
}

// processors are how many were busy with a program in each phase.
func (o outcome) processors(program string) string {
	texts := make([]string, len(phases))
	for i, phase := range phases {
		texts[i] = fmt.Sprintf("%.2f", o.phases[phase].programs[program])
	}
	return strings.Join(texts, "\t")
}

// disturbance is how many processors something else may keep busy before times are not to be trusted.
const disturbance = 0.2

// report prints what was measured and returns how many bounds were missed. Beside each ratio it prints how many processors were busy
// with the API server in each phase.
func report(out io.Writer, outcomes []outcome) (missed int) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "ATTACK\tTIME OF\tSAMPLES\tp50 ALONE\tCONTROL\tBESIDE\tp99 ALONE\tCONTROL\tBESIDE\tRATIO\tVERDICT\tAPI SERVER ALONE\tCONTROL\tBESIDE\n")
	for _, o := range outcomes {
		for _, m := range o.scene.aims() {
			l := o.latency(m)
			fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%.2f of p%d\t%s\t%s\n", o.scene.name, m, l.count, times(l.median), times(l.p99),
				l.ratio, l.judged, l.verdict(), o.processors(controlplane.APIServer))
			missed += count(l.missed)
		}
	}
	flush(table, out)

	table = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "ATTACK\tPROGRAM\tPROCESSORS ALONE\tCONTROL\tBESIDE\tRESIDENT ALONE\tBESIDE\tALLOWED\tLIVE HEAP ALONE\tBESIDE\tALLOWED\tHE STORES\tDIED\tVERDICT\n")
	for _, o := range outcomes {
		for _, program := range programs {
			m := o.memory(program)
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", o.scene.name,
				strings.TrimPrefix(program, "podsequence-"), o.processors(program),
				bytesText(m.alone.peak), bytesText(m.beside.peak), bytesText(m.allowed(m.alone.peak)),
				bytesText(m.alone.live), bytesText(m.beside.live), bytesText(m.allowed(m.alone.live)),
				bytesText(m.stored), m.died, m.verdict())
			missed += count(m.missed)
		}
	}
	flush(table, out)

	others := 0.0
	for _, o := range outcomes {
		for _, phase := range o.phases {
			others = max(others, phase.others)
		}
	}
	if others > disturbance {
		fmt.Fprintf(out, "Something else kept up to %.1f processors busy: run the benchmark again on an idle machine before you trust the times.\n\n", others)
	}
	return missed
}

func (l latency) verdict() string {
	switch {
	case l.unanswered > 0:
		return fmt.Sprintf("MISSED: %d never came", l.unanswered)
	case l.count == 0:
		return "MISSED: none was asked for"
	case l.missed:
		return "MISSED"
	}
	return "kept"
}

func (m memory) verdict() string {
	switch {
	case m.died > maxRestarts:
		return "MISSED: dies again and again"
	case m.died > 0:
		return "MISSED: died"
	case m.missed:
		return "MISSED"
	}
	return "kept"
}

func flush(table *tabwriter.Writer, out io.Writer) {
	_ = table.Flush() // the screen is gone if it fails
	fmt.Fprintln(out)
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func times(by map[string]time.Duration) string {
	texts := make([]string, len(phases))
	for i, phase := range phases {
		texts[i] = milliseconds(by[phase])
	}
	return strings.Join(texts, "\t")
}

func milliseconds(d time.Duration) string {
	if d >= 10*time.Second {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

func bytesText(n int64) string {
	switch {
	case n == 0:
		return "-"
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

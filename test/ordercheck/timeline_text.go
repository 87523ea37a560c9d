package ordercheck

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// barWidth is the number of characters that stand for the whole time.
const barWidth = 48

// The characters of a bar.
const (
	barAbsent   = ' ' // not yet created, or gone
	barWaiting  = '.' // created, not yet bound
	barStarting = '=' // bound, not yet ready
	barReady    = '#'
)

// String draws the timeline: a line for each pod, with its times in seconds and a bar.
func (t Timeline) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s: %.1f s in all (%c waiting  %c starting  %c ready)\n",
		t.Kind, t.Sequence, t.End.Sub(t.Begin).Seconds(), barWaiting, barStarting, barReady)
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	node := func(string) string { return "" }
	if t.PerNode {
		node = func(name string) string { return name + "\t" }
	}
	after := func(string) string { return "" }
	if t.Graph {
		after = func(names string) string { return names + "\t" }
	}
	fmt.Fprintln(table, node("NODE")+"GROUP\t"+after("AFTER")+"POD\tCREATED\tRELEASED\tBOUND\tREADY\t")
	for _, pod := range t.Pods {
		fmt.Fprintf(table, "%s%d %s\t%s%s\t%s\t%s\t%s\t%s\t|%s|\n", node(cmp.Or(pod.Node, "-")), pod.Group.Index+1, shownName(pod.Group.Name),
			after(pod.Group.after()), pod.Name, t.seconds(pod.Created), t.seconds(pod.Released), t.seconds(pod.Bound), t.seconds(pod.Ready), t.bar(pod))
	}
	_ = table.Flush() // a strings.Builder takes everything
	return strings.TrimRight(out.String(), "\n")
}

// after names the groups that a group depends on.
func (g Group) after() string {
	switch {
	case g.DependsOn == nil && g.Index > 0:
		return "all before"
	case len(g.DependsOn) == 0:
		return "-"
	}
	names := make([]string, len(g.DependsOn))
	for i, name := range g.DependsOn {
		names[i] = shownName(name)
	}
	return strings.Join(names, ", ")
}

var plainName = regexp.MustCompile(`^[\pL\pM\pN]+([-_./&+ ][\pL\pM\pN]+)*$`)

// shownName quotes a name that may be taken for something else.
func shownName(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}

// seconds returns how long after the beginning it happened; a dash for what did not happen or was not seen.
func (t Timeline) seconds(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return fmt.Sprintf("%.1fs", at.Sub(t.Begin).Seconds())
}

// bar draws each step from its moment on, over the steps before it. A later step implies the earlier ones, so what
// happened before the watch needs no bar of its own unless nothing came after it.
func (t Timeline) bar(pod PodTimes) string {
	cells := make([]rune, barWidth)
	for i := range cells {
		cells[i] = barAbsent
	}
	fill := func(from int, with rune) {
		for i := from; i < barWidth; i++ {
			cells[i] = with
		}
	}
	for _, step := range []struct {
		at   *time.Time
		draw rune
	}{{pod.Created, barWaiting}, {pod.Bound, barStarting}, {pod.Ready, barReady}, {pod.Gone, barAbsent}} {
		if step.at != nil {
			fill(t.cell(*step.at), step.draw)
		}
	}
	return string(cells)
}

// cell always leaves the last step one cell to be seen in.
func (t Timeline) cell(at time.Time) int {
	whole := t.End.Sub(t.Begin)
	if whole <= 0 {
		return 0
	}
	return min(int(float64(barWidth)*float64(at.Sub(t.Begin))/float64(whole)), barWidth-1)
}

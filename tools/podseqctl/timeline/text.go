package timeline

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/podsequence/internal/printable"
	"example.com/podsequence/tools/podseqctl/text"
)

// barWidth is the number of characters that stand for the whole time, and leastBar that of a terminal that has no room for so many.
const (
	barWidth = 48
	leastBar = 20
)

// The characters of a bar.
const (
	barAbsent   = ' ' // not created yet
	barHeld     = '.' // created, not released
	barOther    = ':' // released by this sequence, not by another
	barPending  = '-' // released, no node yet
	barStarting = '=' // has a node, not ready
	barReady    = '#'
)

// maxPods is how many pods of a group are listed unless all are asked for: the critical and the slowest ones.
const maxPods = 12

// Text prints the timeline for a terminal.
func (t *Timeline) Text(out io.Writer, style text.Style, all bool) {
	state := "all ready after"
	if !t.Finished {
		state = "not all ready after"
	}
	title := fmt.Sprintf("   %s %s", state, span(t.End.Sub(t.Begin)))
	other := ""
	if t.hasOthers() {
		other = fmt.Sprintf("  %c held by another sequence", barOther)
	}
	legend := fmt.Sprintf("   (%c held%s  %c being scheduled  %c starting  %c ready)", barHeld, other, barPending, barStarting, barReady)
	if style.Width > 0 && utf8.RuneCountInString(t.Sequence+title+legend) > style.Width {
		legend = "\n" + strings.TrimSpace(legend)
	}
	fmt.Fprintf(out, "%s%s%s\n\n", style.Paint(text.Heading, t.Sequence), title, legend)
	t.table(all).print(out, style)
	if len(t.Critical) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\n", style.Paint(text.Heading, "Critical path (*):"))
	for _, step := range t.Critical {
		fmt.Fprintln(out, style.Wrap(fmt.Sprintf("  %s to %s, group %d/%d %q: %s", t.since(&step.From), t.since(&step.To), step.Group+1, len(t.Groups),
			t.Groups[step.Group].Title, step.Message), "      "))
		if step.Advice != "" {
			fmt.Fprintln(out, style.Paint(text.Active, style.Wrap("    "+step.Advice, "      ")))
		}
	}
}

// without says why a group has no pods.
func (g *Group) without() string {
	switch {
	case !g.memberless:
		return "no pods"
	case g.Passed != nil:
		return "no pods: passed"
	}
	return "no pods: waits for other things"
}

// label names the group with this 0-based index in a table.
func (g *Group) label(i int) string { return fmt.Sprintf("%d %s", i+1, printable.Name(g.Title)) }

// listed returns the pods to list, and how many are left out.
func (g *Group) listed(all bool) ([]Pod, int) {
	if all || len(g.Pods) <= maxPods {
		return g.Pods, 0
	}
	slowest := slices.Clone(g.Pods)
	slices.SortStableFunc(slowest, func(a, b Pod) int { return b.rank().Compare(a.rank()) })
	slowest = slowest[:maxPods]
	slices.SortFunc(slowest, func(a, b Pod) int { return cmp.Compare(a.Name, b.Name) })
	return slowest, len(g.Pods) - maxPods
}

// rank is the later the more the pod is worth listing.
func (p Pod) rank() time.Time {
	switch {
	case p.Critical || p.Ready == nil:
		return time.Unix(1<<40, 0)
	case p.Late:
		return time.Time{}
	}
	return *p.Ready
}

// since says how long after the beginning something was; a dash if it was not.
func (t *Timeline) since(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return span(at.Sub(t.Begin))
}

// bar draws each step from its moment on, over the steps before it.
func (t *Timeline) bar(p Pod, width int) string {
	cells := []rune(strings.Repeat(string(barAbsent), width))
	fill := func(from *time.Time, with rune) {
		if from == nil {
			return
		}
		for i := t.cell(*from, width); i < width; i++ {
			cells[i] = with
		}
	}
	fill(&p.Created, barHeld)
	fill(p.Released, barOther)
	fill(p.Free, barPending)
	fill(p.Bound, barStarting)
	fill(p.Ready, barReady)
	return string(cells)
}

// cell leaves the last step one cell to be seen in.
func (t *Timeline) cell(at time.Time, width int) int {
	whole := t.End.Sub(t.Begin)
	if whole <= 0 {
		return 0
	}
	return min(max(0, int(float64(width)*float64(at.Sub(t.Begin))/float64(whole))), width-1)
}

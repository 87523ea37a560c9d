package timeline

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

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
	newTable(t, all).print(out, style)
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

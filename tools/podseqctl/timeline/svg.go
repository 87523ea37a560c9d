package timeline

import (
	"fmt"
	"html"
	"io"
	"strings"
	"time"

	"example.com/podsequence/internal/printable"
)

// Measures of the picture, in pixels.
const (
	svgRow      = 20
	svgGroupGap = 12
	svgLabel    = 300
	svgPlot     = 720
	svgMargin   = 24
	svgHead     = 84
	svgAxis     = 34
	svgName     = 34 // characters of a name that fit
	svgLetter   = 6.5
	svgPassed   = 80 // the width of the text that says when a group was passed
)

const svgStyle = `text{font:12px system-ui,sans-serif;fill:#1f2933}.title{font-size:16px;font-weight:600}.faint{fill:#5f6b78}.group{font-weight:600}` +
	`.critical{font-weight:600;fill:#b3261e}.grid{stroke:#e3e7ec}.path{fill:none;stroke:#b3261e;stroke-width:2}.page{fill:#fff}.passed{stroke:#66727f}` +
	`@media(prefers-color-scheme:dark){text{fill:#e2e7ed}.faint{fill:#9aa4b0}.critical{fill:#ff8f87}.grid{stroke:#2b323b}.path{stroke:#ff6f66}.page{fill:#11151a}}`

// svg draws a timeline.
type svg struct{ *Timeline }

// write writes a picture that needs nothing else.
func (t svg) write(out io.Writer, all bool) error {
	var body strings.Builder
	y := svgHead
	for i, g := range t.Groups {
		pods, more := g.listed(all)
		fmt.Fprintf(&body, `<text class="group" x="%d" y="%d">%d. %s</text>`+"\n", svgMargin, y+14, i+1, html.EscapeString(cut(printable.Name(g.Title))))
		fmt.Fprint(&body, t.passedMark(g, y, svgRow*(len(pods)+1)))
		fmt.Fprint(&body, t.waitMark(i, y))
		y += svgRow
		for _, p := range pods {
			t.podBar(&body, p, y)
			y += svgRow
		}
		switch {
		case more > 0:
			fmt.Fprintf(&body, `<text class="faint" x="%d" y="%d">%d faster pods are not shown</text>`+"\n", svgMargin+12, y+14, more)
			y += svgRow
		case len(pods) == 0:
			fmt.Fprintf(&body, `<text class="faint" x="%d" y="%d">%s</text>`+"\n", svgMargin+12, y+14, g.without())
			y += svgRow
		}
		y += svgGroupGap
	}
	width, height := svgMargin*2+svgLabel+svgPlot, y+svgAxis
	var page strings.Builder
	fmt.Fprintf(&page, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&page, "<title>%s</title><style>%s</style>\n", html.EscapeString(t.Sequence), svgStyle)
	fmt.Fprintf(&page, `<rect class="page" width="%d" height="%d"/>`+"\n", width, height)
	t.head(&page)
	t.grid(&page, y)
	page.WriteString(body.String())
	page.WriteString("</svg>\n")
	_, err := io.WriteString(out, page.String())
	return err
}

func (t svg) head(page *strings.Builder) {
	fmt.Fprintf(page, `<text class="title" x="%d" y="30">%s</text>`+"\n", svgMargin, html.EscapeString(t.Sequence))
	fmt.Fprintf(page, `<text class="faint" x="%d" y="50">%s</text>`+"\n", svgMargin, t.summary())
	x := svgMargin + svgLabel
	for _, entry := range t.legend() {
		fmt.Fprintf(page, `<rect x="%d" y="20" width="12" height="12" rx="2" fill="%s"/><text x="%d" y="30">%s</text>`+"\n", x, entry.colour, x+17, entry.text)
		x += 36 + 6*len(entry.text)
	}
	fmt.Fprintf(page, `<rect class="path" x="%d" y="20" width="12" height="12" rx="2"/><text x="%d" y="30">critical path</text>`+"\n", x, x+17)
}

// grid draws lines at round times, and says above and below them which.
func (t svg) grid(page *strings.Builder, bottom int) {
	for _, at := range t.ticks() {
		x := t.x(t.Begin.Add(at))
		fmt.Fprintf(page, `<line class="grid" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, x, svgHead-8, x, bottom)
		for _, y := range []int{svgHead - 12, bottom + 16} {
			fmt.Fprintf(page, `<text class="faint" x="%.1f" y="%d" text-anchor="middle">%s</text>`, x, y, span(at))
		}
		page.WriteString("\n")
	}
}

func (t svg) x(at time.Time) float64 {
	return float64(svgMargin+svgLabel) + float64(svgPlot)*t.share(at)
}

// podBar draws one pod.
func (t svg) podBar(body *strings.Builder, p Pod, y int) {
	class := ""
	if p.Critical {
		class = "critical"
	}
	label := cut(p.Name)
	if t.PerNode && p.Node != "" {
		label = cut(p.Node + " " + p.Name)
	}
	fmt.Fprintf(body, `<text class="%s" x="%d" y="%d">%s</text>`+"\n", class, svgMargin+12, y+14, html.EscapeString(label))
	fmt.Fprintf(body, "<g><title>%s</title>", html.EscapeString(t.describe(p)))
	for _, s := range t.stretches(p) {
		x, to := t.x(s.from), t.x(s.to)
		fmt.Fprintf(body, `<rect x="%.1f" y="%d" width="%.1f" height="12" fill="%s"/>`, x, y+4, max(to-x, 2), legend[s.state].colour)
	}
	if from, to, ok := t.criticalOf(p); ok {
		fmt.Fprintf(body, `<rect class="path" x="%.1f" y="%d" width="%.1f" height="14" rx="2"/>`, t.x(from), y+3, max(t.x(to)-t.x(from), 3))
	}
	body.WriteString("</g>\n")
}

// passedMark draws when a group was passed.
func (t svg) passedMark(g Group, y, height int) string {
	if g.Passed == nil || g.Passed.Before(t.Begin) || g.Passed.After(t.End) {
		return ""
	}
	x := t.x(*g.Passed)
	return fmt.Sprintf(`<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" class="passed" stroke-dasharray="3 3"/><text class="faint" x="%.1f" y="%d" text-anchor="%s">passed %s</text>`+"\n",
		x, y, x, y+height, x+anchorGap(x), y+14, anchor(x), t.since(g.Passed))
}

// waitMark draws what everybody waited for that is no pod: the wait of a group, or pods that do not exist. It says so where there is room.
func (t svg) waitMark(group, y int) string {
	for _, step := range t.Critical {
		if step.Group != group || step.Pod != "" {
			continue
		}
		x, width, message := t.x(step.From), max(t.x(step.To)-t.x(step.From), 3), html.EscapeString(step.Message)
		mark := fmt.Sprintf(`<rect class="path" x="%.1f" y="%d" width="%.1f" height="4" stroke-dasharray="4 2"><title>%s</title></rect>`+"\n", x, y+14, width, message)
		room := width
		if passed := t.Groups[group].Passed; passed != nil && anchor(t.x(*passed)) == "end" {
			room -= svgPassed
		}
		if room >= svgLetter*float64(len(step.Message)) {
			mark += fmt.Sprintf(`<text class="faint" x="%.1f" y="%d">%s</text>`+"\n", x, y+10, message)
		}
		return mark
	}
	return ""
}

// anchor keeps text inside of the picture.
func anchor(x float64) string {
	if x > svgMargin+svgLabel+svgPlot-110 {
		return "end"
	}
	return "start"
}

func anchorGap(x float64) float64 {
	if anchor(x) == "end" {
		return -5
	}
	return 5
}

// cut shortens a name in its middle: what pods are told apart by is at both ends.
func cut(name string) string {
	runes := []rune(name)
	if len(runes) <= svgName {
		return name
	}
	return string(runes[:svgName/2]) + "…" + string(runes[len(runes)-svgName/2+1:])
}

package timeline

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"time"
)

//go:embed page.html
var pageText string

// page is a document that needs nothing else: it can be attached to a ticket.
var page = template.Must(template.New("page").Parse(pageText))

// newDocument lays out bars for the width of any screen, and tables of all times.
func newDocument(t *Timeline, all bool) document {
	d := document{Timeline: t, Summary: t.summary()}
	for _, entry := range t.legend() {
		d.Legend = append(d.Legend, legendEntry{entry.class, entry.text, template.CSS(entry.colour)})
	}
	for _, at := range t.ticks() {
		d.Ticks = append(d.Ticks, tickMark{percent(t.share(t.Begin.Add(at))), span(at)})
	}
	for i, g := range t.Groups {
		d.Groups = append(d.Groups, d.groupBars(i, g, all))
	}
	return d
}

// document is what the page is made of.
type document struct {
	Timeline *Timeline
	Summary  string
	Legend   []legendEntry
	Ticks    []tickMark
	Groups   []groupBars
}

type legendEntry struct {
	Class, Text string
	Colour      template.CSS
}

type tickMark struct {
	Left template.CSS
	Text string
}

// groupBars is a group as it is drawn.
type groupBars struct {
	Title, Note string
	Bars        []bar
}

// bar is a line of the picture: a pod, or something else that everybody waited for.
type bar struct {
	Name, Meaning string
	Critical      bool
	Parts         []barPart
}

type barPart struct {
	Class       string
	Left, Width template.CSS
}

// groupBars lays out the lines of a group.
func (d document) groupBars(i int, g Group, all bool) groupBars {
	t := d.Timeline
	pods, more := g.listed(all)
	drawn := groupBars{Title: t.title(i)}
	switch {
	case g.Passed != nil:
		drawn.Note = "passed " + t.since(g.Passed)
	case len(g.Pods) == 0:
		drawn.Note = g.without()
	}
	for _, step := range t.Critical {
		if step.Group == i && step.Pod == "" {
			drawn.Bars = append(drawn.Bars, bar{step.Message, cmp.Or(step.Advice, step.Message), true, []barPart{d.part("path", step.From, step.To)}})
		}
	}
	for _, p := range pods {
		name := p.Name
		if t.PerNode && p.Node != "" {
			name = p.Node + " " + p.Name
		}
		b := bar{Name: name, Meaning: t.describe(p), Critical: p.Critical}
		for _, s := range t.stretches(p) {
			b.Parts = append(b.Parts, d.part(legend[s.state].class, s.from, s.to))
		}
		if from, to, ok := t.criticalOf(p); ok {
			b.Parts = append(b.Parts, d.part("path", from, to))
		}
		drawn.Bars = append(drawn.Bars, b)
	}
	if more > 0 {
		drawn.Bars = append(drawn.Bars, bar{Name: fmt.Sprintf("%d faster pods are not shown", more)})
	}
	return drawn
}

func (d document) part(class string, from, to time.Time) barPart {
	left, right := d.Timeline.share(from), d.Timeline.share(to)
	return barPart{class, percent(left), percent(right - left)}
}

func percent(share float64) template.CSS { return template.CSS(fmt.Sprintf("%.2f%%", 100*share)) }

// Title names a group.
func (d document) Title(group int) string { return d.Timeline.title(group) }

// Since says how long after the beginning something was.
func (d document) Since(at time.Time) string { return d.Timeline.since(&at) }

// SinceAny is Since for what may not have been.
func (d document) SinceAny(at *time.Time) string { return d.Timeline.since(at) }

package timeline

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/podsequence/tools/podseqctl/text"
)

// The columns before the bar.
const (
	columnGroup = iota
	columnPod
	columnNode
	columnCreated
	columnReleased
	columnBound
	columnReady
)

var columnTitles = []string{"GROUP", "POD", "NODE", "CREATED", "RELEASED", "BOUND", "READY"}

// dispensable are the columns that are left out where there is no room for them, in this order: the bar shows the times as well.
var dispensable = []int{columnCreated, columnBound, columnReleased, columnNode}

// How much of group, pod and bar is printed in any case.
const (
	leastGroup = 10
	leastName  = 12
	shortest   = 6
)

// table holds a line for each pod, before it is known how wide it may be.
type table struct {
	of    *Timeline
	lines []line
}

type line struct {
	cells []text.Cell
	pod   *Pod // nil if the line is about no pod
}

// newTable returns the lines of all groups.
func newTable(t *Timeline, all bool) *table {
	table := &table{of: t}
	for i, g := range t.Groups {
		pods, more := g.listed(all)
		for _, p := range pods {
			name, colour := p.Name, text.Plain
			if p.Critical {
				name, colour = "* "+name, text.Bad
			}
			table.lines = append(table.lines, line{pod: &p, cells: []text.Cell{
				{Text: g.label(i)}, {Text: name, Colour: colour}, {Text: cmp.Or(p.Node, "-")},
				{Text: t.since(&p.Created)}, {Text: t.since(p.Released)}, {Text: t.since(p.Bound)}, {Text: t.since(p.Ready)},
			}})
		}
		if more > 0 {
			table.lines = append(table.lines, line{cells: []text.Cell{{Text: g.label(i)}, {Text: text.Count(more, "faster pod") + "; --all lists them"}}})
		}
		if len(g.Pods) == 0 {
			table.lines = append(table.lines, line{cells: []text.Cell{{Text: g.label(i)}, {Text: g.without()}}})
		}
	}
	return table
}

// print prints the table so that it is not wider than the output: it leaves columns out, then makes the bars and the names of pods shorter.
func (t *table) print(out io.Writer, style text.Style) {
	columns := make([]int, len(columnTitles))
	for i := range columns {
		columns[i] = i
	}
	var left []string
	bar := barWidth
	if style.Width > 0 {
		room := func() int { return style.Width - t.width(columns) - len("||") }
		for _, column := range dispensable {
			if room() >= leastBar {
				break
			}
			columns = slices.DeleteFunc(columns, func(each int) bool { return each == column })
			left = append(left, columnTitles[column])
		}
		for column, least := range []int{columnGroup: leastGroup, columnPod: leastName} {
			if lacking := leastBar - room(); lacking > 0 {
				t.cut(column, max(least, t.widthOf(column)-lacking))
			}
		}
		bar = max(shortest, min(barWidth, room()))
	}
	var header []string
	for _, column := range columns {
		header = append(header, columnTitles[column])
	}
	printed := text.NewTable(append(header, "")...)
	printed.Whole = true
	for _, line := range t.lines {
		var cells []text.Cell
		for _, column := range columns {
			if column < len(line.cells) {
				cells = append(cells, line.cells[column])
			}
		}
		if line.pod != nil {
			cells = append(cells, text.Cell{Text: "|" + t.bar(*line.pod, bar) + "|"})
		}
		printed.Add(cells...)
	}
	printed.Print(out, style)
	if len(left) > 0 {
		fmt.Fprintln(out, style.Paint(text.Faint, style.Wrap(fmt.Sprintf("No room for %s: -o html has them.", strings.Join(left, ", ")), "")))
	}
}

// width is how wide these columns are, with the gaps behind them.
func (t *table) width(columns []int) int {
	width := 0
	for _, column := range columns {
		width += t.widthOf(column) + text.Gap
	}
	return width
}

func (t *table) widthOf(column int) int {
	width := len(columnTitles[column])
	for _, line := range t.lines {
		if column < len(line.cells) {
			width = max(width, utf8.RuneCountInString(line.cells[column].Text))
		}
	}
	return width
}

// cut makes the texts of a column shorter.
func (t *table) cut(column, most int) {
	for _, line := range t.lines {
		line.cells[column].Text = text.CutMiddle(line.cells[column].Text, most)
	}
}

// bar draws each step from its moment on, over the steps before it.
func (t *table) bar(p Pod, width int) string {
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
func (t *table) cell(at time.Time, width int) int {
	whole := t.of.End.Sub(t.of.Begin)
	if whole <= 0 {
		return 0
	}
	return min(max(0, int(float64(width)*float64(at.Sub(t.of.Begin))/float64(whole))), width-1)
}

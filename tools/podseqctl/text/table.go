package text

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"example.com/podsequence/internal/printable"
)

// gap is between two columns, and Gap is how wide it is.
const (
	gap = "   "
	Gap = len(gap)
)

// Cell is one cell of a table.
type Cell struct {
	Text   string
	Colour Colour
}

// Table is a table whose cells are printed aligned. Colours do not count for the width of a column.
type Table struct {
	// Whole keeps the last column as long as it is. Otherwise it is cut so that lines are not wider than the output.
	Whole bool

	header []string
	rows   [][]Cell
}

// NewTable returns a table with these headings.
func NewTable(header ...string) *Table { return &Table{header: header} }

// Add adds a row.
func (t *Table) Add(cells ...Cell) {
	for i := range cells {
		cells[i].Text = OneLine(cells[i].Text)
	}
	t.rows = append(t.rows, cells)
}

// OneLine returns the text with characters escaped that are not printable: what objects say neither breaks lines nor turns colours.
func OneLine(text string) string { return printable.Line(text) }

// Row adds a row of plain cells.
func (t *Table) Row(texts ...string) {
	cells := make([]Cell, len(texts))
	for i, text := range texts {
		cells[i].Text = text
	}
	t.Add(cells...)
}

// Print writes the table. Nothing follows the last column, so that lines have no spaces at their end.
func (t *Table) Print(out io.Writer, style Style) {
	header := make([]Cell, len(t.header))
	for i, text := range t.header {
		header[i] = Cell{text, Faint}
	}
	widths := make([]int, len(header))
	rows := append([][]Cell{header}, t.rows...)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
		}
	}
	if !t.Whole {
		cutLast(rows, widths, cmp.Or(style.Width, widthElsewhere))
	}
	for _, row := range rows {
		var line strings.Builder
		spaces := 0
		for i, cell := range row {
			if cell.Text != "" {
				line.WriteString(strings.Repeat(" ", spaces))
				line.WriteString(style.Paint(cell.Colour, cell.Text))
				spaces = 0
			}
			spaces += widths[i] - utf8.RuneCountInString(cell.Text) + len(gap)
		}
		fmt.Fprintln(out, line.String())
	}
}

// leastOfLast is how much of the last column is printed in any case.
const leastOfLast = 20

// cutLast cuts the last column so that lines are not wider than most.
func cutLast(rows [][]Cell, widths []int, most int) {
	last := len(widths) - 1
	for _, width := range widths[:last] {
		most -= width + len(gap)
	}
	for _, row := range rows {
		if len(row) == len(widths) {
			row[last].Text = Cut(row[last].Text, max(most, leastOfLast))
		}
	}
}

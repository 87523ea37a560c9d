package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// printTable prints what was found, for people at a terminal.
func printTable(out io.Writer, results []result, judged bool) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "ROW\tCOMPARED\tMEDIAN (INTERVAL)\tTURNS\tAIM\tVERDICT\n")
	for _, r := range results {
		for _, f := range r.Findings {
			verdict := strings.Trim(f.Verdict(), "*")
			if !judged && verdict != "" {
				verdict = "not judged"
			}
			fmt.Fprintf(table, "%d\t%s\t%s\t%d\t%s\t%s\n", r.Row, f.Text, f.interval, f.Count, f.Aim, verdict)
		}
	}
	_ = table.Flush() // the screen is gone if it fails
}

const introduction = `# Benchmarks

What PodSequence costs, compared with alternatives. ` + "`make bench`" + ` measures all rows and writes this page; ` + "`make bench ROW=5`" + `
measures one row, ` + "`WORK=1`" + ` only counts instructions, and ` + "`SHORT=1`" + ` tries all rows in small and fails if a count has grown by 5%.

Rows 1 to 4 and 8 exist twice. "Work" counts the instructions of one program in user space, with callgrind: the same on a busy machine
and on a quiet one. The program runs on one processor and collects no garbage meanwhile. It runs some fifty times slower than usual, so
what the plugin does at an interval, and not for each pod, is counted too often. The other rows measure time, on a machine that does nothing else.

Pods of most rows have no readiness probe. As shipped, such a pod counts when it has been ready for 5 s; the benchmarks set
` + "`--unprobed-ready-seconds`" + ` to 0, so that it counts at once, as a pod with a probe does.

The variants of a row are measured in turn on the same machine, and compared turn by turn. The table has the median of these
comparisons, with a 90% confidence interval for the median (the range of all of five turns; of nine, the second to the eighth). A
verdict is about the median. An aim that was missed stays here, with the reason if it is known. Rows that are missing have not been
measured in full.

| row | question | compared | median (interval) | aim | |
|---|---|---|---|---|---|
`

// writePage writes docs/proof/benchmarks.md. Pictures are in a directory beside it.
func writePage(out io.Writer, results []result) {
	fmt.Fprint(out, introduction)
	for _, r := range results {
		for i, f := range r.Findings {
			row, question := "", ""
			if i == 0 {
				row, question = fmt.Sprintf("[%s](#%s)", r.title(), r.anchor()), r.Question
			}
			fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s |\n", row, question, f.Text, f.interval, f.Aim, f.Verdict())
		}
	}
	for _, r := range results {
		fmt.Fprintf(out, "\n## Row %s\n\n%s\n\nMeasured on %s at commit `%s`: %s.\n\n", r.title(), r.Question, r.Date, r.Commit, r.Machine)
		for _, variant := range slices.Sorted(maps.Keys(r.Figures)) {
			fmt.Fprintf(out, "- %s: %s\n", variant, sortedFigures(r.Figures[variant]))
		}
		for _, note := range r.Notes {
			fmt.Fprintf(out, "\n%s\n", note)
		}
		if len(r.Curves) > 0 {
			fmt.Fprintf(out, "\n![%s](%s)\n", r.Question, pictureFile(r.Row))
		}
	}
}

// pictureFile is the path of a row's picture from the page.
func pictureFile(row int) string { return fmt.Sprintf("benchmarks/row-%d.svg", row) }

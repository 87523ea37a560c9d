package check

import (
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"example.com/podsequence/tools/podseqctl/text"
)

// State says how a line is to be read.
type State string

// The states of a line.
const (
	OK      State = "OK"
	Note    State = "Note"    // by design or by somebody's wish, but good to know
	Unknown State = "Unknown" // it may not be read
	Wrong   State = "Wrong"
)

// Line is one thing that was examined.
type Line struct {
	Check string `json:"check"`
	State State  `json:"state"`
	Says  string `json:"says"`
	// Fix says what to do. Only what is OK has none.
	Fix string `json:"fix,omitempty"`
}

// Report is what was found.
type Report []Line

// Wrong returns how many lines say that something is wrong.
func (r Report) Wrong() int {
	wrong := 0
	for _, line := range r {
		if line.State == Wrong {
			wrong++
		}
	}
	return wrong
}

// Print prints a line for each thing, and below it what to do.
func (r Report) Print(out io.Writer, style text.Style) {
	colours := map[State]text.Colour{OK: text.Good, Note: text.Active, Unknown: text.Active, Wrong: text.Bad}
	table := text.NewTable("CHECK", "STATE", "RESULT")
	table.Whole = true // what is wrong must be readable
	for _, line := range r {
		table.Add(text.Cell{Text: line.Check}, text.Cell{Text: string(line.State), Colour: colours[line.State]}, text.Cell{Text: line.Says})
		if line.Fix != "" {
			table.Add(text.Cell{}, text.Cell{}, text.Cell{Text: "> " + line.Fix, Colour: text.Heading})
		}
	}
	table.Print(out, style)
}

func ok(check, format string, args ...any) Line {
	return Line{Check: check, State: OK, Says: fmt.Sprintf(format, args...)}
}

// but returns a line that is not OK, and what to do about it.
func but(check string, state State, fix, format string, args ...any) Line {
	return Line{Check: check, State: state, Says: fmt.Sprintf(format, args...), Fix: fix}
}

// unread returns the line about what could not be read.
func unread(check, what, whom string, err error) Line {
	if apierrors.IsForbidden(err) {
		return but(check, Unknown, "ask "+whom, "you may not read %s", what)
	}
	return but(check, Unknown, "try again; if it stays, look at the API server", "%s cannot be read: %v", what, err)
}

// Package text prints for all commands: colours, bars, aligned tables and trees. It prints the same text with and without
// colours.
package text

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Colour is one of the few colours in use.
type Colour string

// The colours, by what they say.
const (
	Plain   Colour = ""
	Good    Colour = "32" // green: done
	Active  Colour = "33" // yellow: under way
	Bad     Colour = "31" // red: somebody must act
	Faint   Colour = "2"  // what is of less interest
	Heading Colour = "1"
)

// Style colours text, or leaves it as it is. The zero value does not colour.
type Style struct {
	// Colours reports whether to colour at all.
	Colours bool
	// Width is the number of columns of the output; 0 if it has no width, or none is known.
	Width int
}

// StyleFor returns the style for a writer: colours are for terminals only, and not where NO_COLOR is set or the terminal is dumb.
func StyleFor(out io.Writer) Style {
	style := Style{Width: widthOf(out)}
	if os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		style.Colours = IsTerminal(out)
	}
	return style
}

// IsTerminal reports whether what is written is read by a person at once.
func IsTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Paint colours a text, for a Writer.
func (s Style) Paint(colour Colour, text string) string {
	if !s.Colours || colour == Plain || text == "" {
		return text
	}
	return mark + "[" + string(colour) + "m" + text + mark + "[0m"
}

// Clear makes a Writer empty the screen.
func (s Style) Clear() string { return mark + "[H" + mark + "[2J" }

// Wrap breaks a text at spaces so that no line is wider than the output, if its width is known. The lines after the first begin
// with the indent. Line breaks in the text are escaped.
func (s Style) Wrap(text, indent string) string {
	text = OneLine(text)
	if s.Width == 0 || utf8.RuneCountInString(text) <= s.Width {
		return text
	}
	var lines []string
	line := text[:len(text)-len(strings.TrimLeft(text, " "))]
	empty := true
	for word := range strings.FieldsSeq(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > s.Width {
			lines, line, empty = append(lines, line), indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return strings.Join(append(lines, line), "\n")
}

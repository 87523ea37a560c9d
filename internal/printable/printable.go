// Package printable makes text of which other people wrote a part safe to print: in a terminal, in a condition or an event, and in a
// log. Use it for messages that are composed of names, annotations and messages of objects.
package printable

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns the text with every character escaped that is not printable, as in a string of Go: control characters, line breaks,
// tabs, marks that change the direction of text, characters without a width, and what is not UTF-8. So what objects say does not
// break lines, change colours or move the cursor.
func Line(text string) string { return escape(text, unicode.IsPrint) }

// Lines is Line for a text whose line breaks are meant.
func Lines(text string) string {
	return escape(text, func(r rune) bool { return r == '\n' || unicode.IsPrint(r) })
}

func escape(text string, isPrintable func(rune) bool) string {
	if utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !isPrintable(r) }) < 0 {
		return text
	}
	var escaped strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if char := text[i : i+size]; isPrintable(r) && (r != utf8.RuneError || size > 1) {
			escaped.WriteString(char)
		} else {
			quoted := strconv.Quote(char)
			escaped.WriteString(quoted[1 : len(quoted)-1])
		}
		i += size
	}
	return escaped.String()
}

// maxNote is how long the note of an event may be, in bytes (ValidateEvent in pkg/apis/core/validation of Kubernetes: noteLengthLimit).
const maxNote = 1024

// Note returns the text as the note of an event: one line, and no longer than the API server accepts.
func Note(text string) string {
	const more = "..."
	if text = Line(text); len(text) <= maxNote {
		return text
	}
	return strings.ToValidUTF8(text[:maxNote-len(more)], "") + more
}

package printable

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatIsNotPrintableIsEscaped(t *testing.T) {
	tests := map[string]string{
		"":                          "",
		`group 1/2 "Übersicht 数据"`:  `group 1/2 "Übersicht 数据"`,
		"\x1b[31mred\x1b[0m":        `\x1b[31mred\x1b[0m`,
		"\u009b31mred":              `\u009b31mred`,
		"bell\a, delete\x7f":        `bell\a, delete\x7f`,
		"two\r\nlines\tand a tab":   `two\r\nlines\tand a tab`,
		"\u0085, \u2028 and \u2029": `\u0085, \u2028 and \u2029`,
		"\u202eright to left\u2069": `\u202eright to left\u2069`,
		"no\u200bwidth":             `no\u200bwidth`,
		"tag\U000e0041":             `tag\U000e0041`,
		"not UTF-8: \x9b1m":         `not UTF-8: \x9b1m`,
		"was not UTF-8: \ufffd":     "was not UTF-8: \ufffd",
		`a "quote", a \backslash`:   `a "quote", a \backslash`,
	}
	for text, want := range tests {
		assert.Equal(t, want, Line(text))
	}
}

func TestLinesKeepTheirBreaks(t *testing.T) {
	assert.Equal(t, "one\n\\ttwo\\r\n", Lines("one\n\ttwo\r\n"))
	assert.Equal(t, "one\ntwo", Lines("one\ntwo"))
}

func TestNotesFitIntoEvents(t *testing.T) {
	assert.Equal(t, "short", Note("short"))
	assert.Equal(t, `escaped: \x1b[2J\n`, Note("escaped: \x1b[2J\n"))
	assert.Equal(t, strings.Repeat("a", 1024), Note(strings.Repeat("a", 1024)))
	assert.Equal(t, strings.Repeat("ä", 510)+"...", Note(strings.Repeat("ä", 1000)), "no character is cut in half")
}

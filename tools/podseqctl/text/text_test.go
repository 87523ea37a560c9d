package text

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestATableCutsItsLastColumnToTheWidth(t *testing.T) {
	long := strings.Repeat("x", 300)
	tests := map[string]struct {
		style Style
		whole bool
		want  int
	}{
		"of a terminal":             {style: Style{Width: 60}, want: 60},
		"of a pipe":                 {want: 200},
		"of a very narrow terminal": {style: Style{Width: 10}, want: len("name") + len(gap) + 20},
		"not if it is to be whole":  {style: Style{Width: 60}, whole: true, want: len("name") + len(gap) + 300},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			table := NewTable("NAME", "MESSAGE")
			table.Whole = test.whole
			table.Row("name", long)
			table.Row("n", "short")
			var out bytes.Buffer
			table.Print(&out, test.style)
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			assert.Equal(t, test.want, utf8.RuneCountInString(lines[1]))
			assert.Equal(t, "n      short", lines[2])
		})
	}
}

func TestTextsAreCut(t *testing.T) {
	assert.Equal(t, "abc", Cut("abc", 3))
	assert.Equal(t, "a...", Cut("abcdef", 4))
	assert.Equal(t, "ab...yz", CutMiddle("abcdefghijklmnopqrstuvwxyz", 7))
	assert.Equal(t, "ä...ü", CutMiddle("äbcdefü", 5))
}

func TestTextsAreWrapped(t *testing.T) {
	text := "  one two three four"
	assert.Equal(t, text, Style{}.Wrap(text, "    "), "nobody knows the width")
	assert.Equal(t, "  one two\n    three\n    four", Style{Width: 11}.Wrap(text, "    "))
	assert.Equal(t, "  one\n    two\n    three\n    four", Style{Width: 5}.Wrap(text, "    "), "no word is cut")
}

func TestTheWidthIsThatOfCOLUMNS(t *testing.T) {
	t.Setenv("COLUMNS", "72")
	assert.Equal(t, Style{Width: 72}, StyleFor(&bytes.Buffer{}))
	t.Setenv("COLUMNS", "wide")
	assert.Equal(t, Style{}, StyleFor(&bytes.Buffer{}))
}

func TestThingsAreCounted(t *testing.T) {
	assert.Equal(t, "0 pods", Count(0, "pod"))
	assert.Equal(t, "1 pod", Count(1, "pod"))
	assert.Equal(t, "2 pods", Count(int32(2), "pod"))
}

func TestTheClosestName(t *testing.T) {
	names := []string{"Database", "Application", "Frontend", "DB"}
	tests := map[string]string{
		"database": "Database", "Databse": "Database", "front": "Frontend", "APPLICATIONS": "Application", "dB": "DB", "ab": "DB",
		"Migration": "", "xyz": "", "": "",
	}
	for name, want := range tests {
		closest, ok := Closest(name, names)
		assert.Equal(t, want, closest, name)
		assert.Equal(t, want != "", ok, name)
	}
}

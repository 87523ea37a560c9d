package text

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"unicode/utf8"

	"golang.org/x/term"
)

// widthElsewhere bounds the lines of tables where nobody says how wide the output is, as in a pipe.
const widthElsewhere = 200

// widthOf returns the number of columns of the output: what COLUMNS says, else that of the terminal, else 0.
func widthOf(out io.Writer) int {
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil {
			return columns
		}
	}
	return 0
}

// Cut shortens a text to a number of characters. What is cut off is replaced by "...".
func Cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:max(0, most-3)]) + "..."
}

// CutMiddle shortens a text to a number of characters, and keeps its beginning and its end: pods of one workload differ there.
func CutMiddle(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most || most < 5 {
		return text
	}
	head := (most - 3) / 2
	return string(runes[:head]) + "..." + string(runes[len(runes)-(most-3-head):])
}

// Count says how many there are of something, such as: 1 pod, 2 pods.
func Count[N int | int32 | int64](n N, what string) string {
	return fmt.Sprintf("%d %s", n, Plural(n, what))
}

// Plural names something of which there are so many.
func Plural[N int | int32 | int64](n N, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
}

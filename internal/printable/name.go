package printable

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Name returns the name of a group as it is printed where names are not quoted anyway: as it is if it is plain, and quoted
// otherwise, so that what a name contains is never taken for what the program says. Names may have been stored when their definition
// allowed anything.
func Name(name string) string {
	if isPlain(name) {
		return name
	}
	return strconv.Quote(name)
}

// isPlain reports whether the name has letters, digits and a few marks only, begins and ends with a letter or a digit, and has no two
// spaces in a row.
func isPlain(name string) bool {
	first, _ := utf8.DecodeRuneInString(name)
	last, _ := utf8.DecodeLastRuneInString(name)
	return isWord(first) && isWord(last) && !strings.Contains(name, "  ") &&
		strings.IndexFunc(name, func(r rune) bool { return !isWord(r) && !strings.ContainsRune(" -_./&+", r) }) < 0
}

func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

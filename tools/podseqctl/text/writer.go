package text

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"example.com/podsequence/internal/printable"
)

// mark stands for the escape character of our own sequences until a Writer prints them. Nobody who writes an object can know it.
var mark = rand.Text()

// Writer prints for people. It escapes everything that is not printable, except line breaks and what Style added: objects are written
// by many people, and what they contain reaches no terminal as it is.
type Writer struct {
	out io.Writer
}

// NewWriter returns a Writer to out.
func NewWriter(out io.Writer) *Writer { return &Writer{out} }

// Write prints whole characters and whole sequences of Style: callers that write in pieces cut neither.
func (w *Writer) Write(p []byte) (int, error) {
	pieces := strings.Split(string(p), mark)
	for i := range pieces {
		pieces[i] = printable.Lines(pieces[i])
	}
	if _, err := io.WriteString(w.out, strings.Join(pieces, "\x1b")); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Encoded returns JSON or YAML in which every character that is not printable is escaped, and which means the same. YAML that has such
// characters becomes JSON, which is YAML as well.
func Encoded(format string, encoded []byte) ([]byte, error) {
	if bytes.IndexFunc(encoded, isNotPrintable) < 0 {
		return encoded, nil
	}
	if format == "yaml" {
		compact, err := yaml.YAMLToJSON(encoded)
		if err != nil {
			return nil, fmt.Errorf("encode the output: %w", err)
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, compact, "", "  "); err != nil {
			return nil, fmt.Errorf("encode the output: %w", err)
		}
		encoded = append(indented.Bytes(), '\n')
	}
	var escaped bytes.Buffer
	for _, r := range string(encoded) { // only strings have such characters
		switch {
		case !isNotPrintable(r):
			escaped.WriteRune(r)
		case utf16.RuneLen(r) == 2:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&escaped, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&escaped, `\u%04x`, r)
		}
	}
	return escaped.Bytes(), nil
}

func isNotPrintable(r rune) bool { return r != '\n' && (!unicode.IsPrint(r) || r == utf8.RuneError) }

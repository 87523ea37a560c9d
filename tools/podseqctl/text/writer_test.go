package text

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAWriterPrintsOnlyColoursOfItsOwn(t *testing.T) {
	style := Style{Colours: true}
	var out bytes.Buffer
	fmt.Fprintf(NewWriter(&out), "%s and %s\n", style.Paint(Good, "our own"), "\x1b[32mthat of\tan object\x1b[0m")
	assert.Equal(t, "\x1b[32mour own\x1b[0m and \\x1b[32mthat of\\tan object\\x1b[0m\n", out.String())
	out.Reset()
	fmt.Fprint(NewWriter(&out), style.Clear())
	assert.Equal(t, "\x1b[H\x1b[2J", out.String())
}

func TestEncodedOutputMeansTheSameWithoutHiddenCharacters(t *testing.T) {
	tests := map[string]struct{ format, encoded, want string }{
		"JSON":                   {"json", "{\n  \"a\": \"b\u202e\U000e0041\u009b\x7f\"\n}\n", "{\n  \"a\": \"b\\u202e\\udb40\\udc41\\u009b\\u007f\"\n}\n"},
		"YAML":                   {"yaml", "a: b\u200b\nc: 1\n", "{\n  \"a\": \"b\\u200b\",\n  \"c\": 1\n}\n"},
		"YAML with nothing such": {"yaml", "a: ü\nc: 1\n", "a: ü\nc: 1\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Encoded(test.format, []byte(test.encoded))
			require.NoError(t, err)
			assert.Equal(t, test.want, string(got))
		})
	}
}

package podseqctl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// checkOutput refuses a format that a command does not have.
func checkOutput(output string, formats ...string) error {
	if output == "" || slices.Contains(formats, output) {
		return nil
	}
	return fmt.Errorf("-o %s is not an output format: give one of %s", output, strings.Join(formats, ", "))
}

// isEncoded reports whether programs read the output.
func isEncoded(output string) bool { return output == "json" || output == "yaml" }

func marshalJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return out.Bytes(), err
}

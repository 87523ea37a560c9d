package bench

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Rows 1 to 4 and 8 are left out, for they need programs that take long to build, and rows 5, 6 and 9, whose parts row 7 has as well.
// `make bench SHORT=1` tries them all.
func TestRowsCanBeMeasured(t *testing.T) {
	rows := []int{7, 10}
	list := ""
	for _, number := range rows {
		list += fmt.Sprintf("%d,", number)
	}
	program, err := os.Executable()
	require.NoError(t, err)
	// A benchmark has no other way to be run in part, with flags of its own.
	trial := exec.CommandContext(t.Context(), program,
		"-test.run=^$", "-test.bench=^BenchmarkRows$", "-test.benchtime=1x", "-test.short", "-rows="+list)
	output, err := trial.CombinedOutput()
	require.NoError(t, err, "%s", output)
	for _, number := range rows {
		assert.Regexp(t, fmt.Sprintf(`(?m)^%d  .*not judged`, number), string(output))
	}
}

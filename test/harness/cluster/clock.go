package cluster

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wrongClock takes the place of pkg/servertime/own.go.
const wrongClock = `package servertime

import (
	"time"

	"k8s.io/utils/clock"
)

type ahead struct{ clock.RealClock }

func (ahead) Now() time.Time { return time.Now().Add(10 * time.Minute) }

func ownClock() clock.WithTicker { return ahead{} }
`

// TenMinutesAhead builds one of our programs so that its own clock is ten minutes ahead, and returns the directory, see Replace.
func TenMinutesAhead(t *testing.T, program string) string {
	t.Helper()
	module, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
	require.NoError(t, err)
	root, dir := strings.TrimSpace(string(module)), t.TempDir()
	file, overlay := filepath.Join(dir, "own.go"), filepath.Join(dir, "overlay.json")
	content, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, "pkg/servertime/own.go"): file}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(wrongClock), 0o600))
	require.NoError(t, os.WriteFile(overlay, content, 0o600))
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", filepath.Join(dir, program),
		"./cmd/"+strings.TrimPrefix(program, "podsequence-"))
	build.Dir = root
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return dir
}

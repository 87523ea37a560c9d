package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wrongClock takes the place of internal/servertime/own.go.
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
	dir := t.TempDir()
	require.NoError(t, BuildTenMinutesAhead(t.Context(), dir, program))
	return dir
}

// BuildTenMinutesAhead builds one of our programs into a directory so that its own clock is ten minutes ahead.
func BuildTenMinutesAhead(ctx context.Context, dir, program string) error {
	module, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	root := strings.TrimSpace(string(module))
	file, overlay := filepath.Join(dir, "own.go"), filepath.Join(dir, "overlay.json")
	content, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, "internal/servertime/own.go"): file}})
	if err != nil {
		return fmt.Errorf("encode overlay: %w", err)
	}
	err = errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(file, []byte(wrongClock), 0o600), os.WriteFile(overlay, content, 0o600))
	if err != nil {
		return fmt.Errorf("write overlay: %w", err)
	}
	build := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", filepath.Join(dir, program),
		"./cmd/"+strings.TrimPrefix(program, "podsequence-"))
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", program, err, output)
	}
	return nil
}

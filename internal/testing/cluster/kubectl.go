package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/podsequence/internal/controlplane"
)

// Shell runs a command as a person would paste it: with a kubectl of the cluster's administrator, and the environment given
// besides.
func (c *Cluster) Shell(t testing.TB, command string, env ...string) (output string, err error) {
	t.Helper()
	bin, err := controlplane.FindBin()
	require.NoError(t, err)
	script := `kubectl() { "$SANDBOX" kubectl --dir "$DIR" -- "$@"; }; ` + command
	shell := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", script)
	shell.Env = append(append(os.Environ(), "SANDBOX="+filepath.Join(bin, "sandbox"), "DIR="+c.Dir), env...)
	text, err := shell.CombinedOutput()
	return string(text), err
}

// MustShell is Shell of what must succeed.
func (c *Cluster) MustShell(t testing.TB, command string) {
	t.Helper()
	output, err := c.Shell(t, command)
	require.NoError(t, err, "%s\n%s", command, output)
}

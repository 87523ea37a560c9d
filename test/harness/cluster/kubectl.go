package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// path is a directory to put on the PATH, with a kubectl of the cluster's administrator.
func (c *Cluster) path() string { return filepath.Join(c.Dir, "path") }

func (c *Cluster) writeKubectl() error {
	bin, err := controlplane.FindBin()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.path(), 0o700); err != nil {
		return fmt.Errorf("make directory of kubectl: %w", err)
	}
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' --dir '%s' kubectl -- \"$@\"\n", filepath.Join(bin, "sandbox"), c.Dir)
	if err := os.WriteFile(filepath.Join(c.path(), "kubectl"), []byte(script), 0o700); err != nil {
		return fmt.Errorf("write kubectl: %w", err)
	}
	return nil
}

// Shell runs a command as a person would paste it who is the cluster's administrator.
func (c *Cluster) Shell(t testing.TB, command string) (output string, err error) {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", command)
	shell.Env = append(os.Environ(), "PATH="+c.path()+":"+os.Getenv("PATH"), "KUBECONFIG="+c.Kubeconfig())
	text, err := shell.CombinedOutput()
	return string(text), err
}

// MustShell is Shell of what must succeed.
func (c *Cluster) MustShell(t testing.TB, command string) {
	t.Helper()
	output, err := c.Shell(t, command)
	require.NoError(t, err, "%s\n%s", command, output)
}

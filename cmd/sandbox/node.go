package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"example.com/podsequence/cmd/sandbox/nodecheck"
	"example.com/podsequence/tools/sandbox/controlplane"
	"example.com/podsequence/tools/sandbox/realnode"
)

func newNodeCommand(s *settings) *cobra.Command {
	command := &cobra.Command{
		Use:   "node",
		Short: "Crash, reboot, start or stop a real node",
	}
	for _, verb := range []struct {
		name, short, done string
		do                func(*controlplane.Cluster, context.Context, string) error
	}{
		{"crash", "Kill everything on a node at once, as a power failure does; its disk stays", "is off", (*controlplane.Cluster).CrashNode},
		{"start", "Boot a node that has crashed, or start its kubelet again", "starts", (*controlplane.Cluster).StartNode},
		{"reboot", "Crash a node and boot it again", "boots", (*controlplane.Cluster).RebootNode},
		{"stop", "Stop the kubelet of a node; its containers keep running", "has no kubelet", (*controlplane.Cluster).StopKubelet},
	} {
		command.AddCommand(&cobra.Command{
			Use:   verb.name + " NAME",
			Short: verb.short,
			Args:  cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				cluster, err := controlplane.Open(s.dir)
				if err != nil {
					return err
				}
				if err := verb.do(cluster, cmd.Context(), args[0]); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s %s.\n", args[0], verb.done)
				return nil
			},
		})
	}
	command.AddCommand(newNodeCheckCommand(s))
	return command
}

func newNodeCheckCommand(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check whether this machine can run real nodes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkRealNodes(s.dir); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "This machine can run real nodes.")
			return nil
		},
	}
}

// checkRealNodes returns what is in the way of real nodes, or of the build of what they run.
func checkRealNodes(dir string) error {
	if err := nodecheck.Check(dir); err != nil {
		return err
	}
	bin, source, err := realNodesBin()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(bin, "kubelet")); err == nil {
		return nil
	}
	if source == "" {
		return fmt.Errorf("%s lacks what real nodes run: run make build-real-nodes in a clone, and its bin/sandbox", bin)
	}
	for _, program := range []string{"make", "go", cmp.Or(os.Getenv("CC"), "gcc")} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("what real nodes run has to be built, which needs %s: %w", program, err)
		}
	}
	return nil
}

// realNodesBin is the directory of what real nodes run, and that of its source, if this program runs where make build puts it.
func realNodesBin() (bin, source string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", "", fmt.Errorf("find the sandbox executable: %w", err)
	}
	bin = filepath.Join(filepath.Dir(self), realnode.Dir)
	source = filepath.Dir(filepath.Dir(self))
	if _, err := os.Stat(filepath.Join(source, "cmd/sandbox/realnodes")); err != nil || filepath.Base(filepath.Dir(self)) != "bin" {
		source = ""
	}
	return bin, source, nil
}

// buildRealNodes builds what real nodes run, unless it is up to date.
func buildRealNodes(ctx context.Context, out io.Writer) error {
	_, source, err := realNodesBin()
	if err != nil || source == "" {
		return err
	}
	build := exec.CommandContext(ctx, "make", "--silent", "--no-print-directory", "-C", source, "build-real-nodes")
	build.Stdout, build.Stderr = out, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build what real nodes run: %w", err)
	}
	return nil
}

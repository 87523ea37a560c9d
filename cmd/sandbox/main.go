// The sandbox is a whole Kubernetes cluster with PodSequence on one machine, for demos, tests and benchmarks.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/podsequence/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	log.SetLogger(klog.Background()) // of controller-runtime's client, which complains at length without one
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(exitCode(err))
	}
}

// exitCode is 1 but for errors that ask for another one.
func exitCode(err error) int {
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}
	return 1
}

// settings are the flags that every verb has.
type settings struct {
	dir string
}

func newCommand() *cobra.Command {
	s := &settings{}
	command := &cobra.Command{
		Use:   "sandbox",
		Short: "A Kubernetes cluster with PodSequence on one machine",
		Long: `sandbox runs a Kubernetes cluster with PodSequence on one machine, to try it, for tests and for benchmarks.

The control plane is real; KWOK simulates the nodes. Start with "sandbox demo", or with "sandbox up" for a cluster of your own.`,
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	command.SetVersionTemplate("{{.Version}}\n")
	// The components that are compiled in leave flags in the global set, which cobra hands to every command, a --version
	// among them.
	command.Flags().Bool("version", false, "print the version")
	pflag.CommandLine.VisitAll(func(flag *pflag.Flag) { flag.Hidden = true })
	command.PersistentFlags().StringVar(&s.dir, "dir", ".sandbox", "`directory` for the data and the logs of the cluster")
	command.AddCommand(newUpCommand(s))
	command.AddCommand(newDownCommand(s))
	command.AddCommand(newStatusCommand(s))
	command.AddCommand(newKillCommand(s))
	command.AddCommand(newStartCommand(s))
	command.AddCommand(newNodeCommand(s))
	command.AddCommand(newKubectlCommand(s))
	command.AddCommand(newDemoCommand(s))
	command.AddCommand(newRolloutDemoCommand(s))
	command.AddCommand(newGangDemoCommand(s))
	command.AddCommand(newRefereeCommand(s))
	command.AddCommand(newComponentCommand())
	return command
}

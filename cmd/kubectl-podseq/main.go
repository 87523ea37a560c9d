// kubectl-podseq says how far PodSequences are and why pods wait. On the PATH it is the plugin kubectl podseq.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // as kubectl, it accepts kubeconfigs of all kinds

	"example.com/podsequence/tools/podseqctl"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	if err := podseqctl.NewCommand(streams, podseqctl.Options{}).ExecuteContext(ctx); err != nil && !errors.Is(err, context.Canceled) {
		podseqctl.PrintError(os.Stderr, err)
		os.Exit(1)
	}
}

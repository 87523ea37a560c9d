package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"example.com/podsequence/internal/controlplane"
	"example.com/podsequence/internal/ordercheck"
)

// demoTimeout is how long the shop may take. It takes about ten seconds.
const demoTimeout = 2 * time.Minute

// demoSequence is what the kustomization "demo" of our manifests applies.
var demoSequence = types.NamespacedName{Namespace: "shop", Name: "shop"}

func newDemoCommand(s *settings) *cobra.Command {
	keep := false
	command := &cobra.Command{
		Use:   "demo",
		Short: "Start a three-tier shop in order on a fresh cluster, and have the referee judge it",
		Long: `Start a three-tier shop in order on a fresh cluster, and have the referee judge it.

The database is two pods by name with scheduling gates; the application a Deployment by label, held by its
scheduler alone; the frontend a gated pod of the stock scheduler. A referee that shares no code with what it
judges watches the cluster and says at the end whether any pod was bound before its turn.

The exit code is the referee's: 0 only if all was seen and all was right.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo(cmd.Context(), cmd.OutOrStdout(), s, keep)
		},
	}
	command.Flags().BoolVar(&keep, "keep", false, "leave the cluster running at the end")
	return command
}

func demo(ctx context.Context, out io.Writer, s *settings, keep bool) (err error) {
	flags := &upFlags{nodes: 3, detach: keep}
	options, err := flags.options(s.dir)
	if err != nil {
		return err
	}
	options.Progress = func(step controlplane.Step) { printStep(out, step) }

	fmt.Fprintln(out, "Starting a Kubernetes cluster with PodSequence on this machine")
	began := time.Now()
	cluster, err := controlplane.Start(ctx, options)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "The cluster is up after %s.\n\n", seconds(time.Since(began)))
	defer func() {
		if keep {
			fmt.Fprintf(out, "\nThe cluster is still up. To use it, and to take it down:\n\n  export KUBECONFIG=%s\n  %s down --dir %s\n",
				cluster.Kubeconfig(), os.Args[0], s.dir)
			return
		}
		err = errors.Join(err, cluster.Stop(context.WithoutCancel(ctx)))
	}()

	etcd, err := cluster.EtcdConfig()
	if err != nil {
		return err
	}
	referee, err := ordercheck.Start(ctx, etcd, ordercheck.Options{})
	if err != nil {
		return err
	}
	defer referee.Stop()

	fmt.Fprintln(out, "Applying the shop: PodSequence, database, application and frontend, all at once")
	if err := cluster.Apply(ctx, "demo"); err != nil {
		return err
	}
	if err := followDemo(ctx, out, cluster.Config(), referee); err != nil {
		return err
	}
	return judgeDemo(ctx, out, referee)
}

// followDemo shows how the sequence comes along until it is completed.
func followDemo(ctx context.Context, out io.Writer, config *rest.Config, referee *ordercheck.Referee) error {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	following, stop := context.WithCancel(ctx)
	followed := make(chan error, 1)
	go func() { followed <- follow(following, newScreen(out), config, demoSequence) }()

	err := referee.AwaitCompleted(ctx, demoSequence)
	stop()
	err = errors.Join(err, <-followed)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the shop was not complete after %s: look at the logs", demoTimeout)
	}
	return err
}

func judgeDemo(ctx context.Context, out io.Writer, referee *ordercheck.Referee) error {
	history := referee.History(ctx)
	timeline, err := ordercheck.NewTimeline(history, demoSequence)
	if err != nil {
		return err
	}
	verdict := ordercheck.Judge(history, ordercheck.JudgeOptions{})
	fmt.Fprintf(out, "\n%s\n\nThe referee %s\n", timeline, verdict)
	if code := verdict.ExitCode(); code != ordercheck.ExitClean {
		return exitError{errors.New("the verdict is not clean"), code}
	}
	return nil
}

// newScreen draws over what it drew before if out is a terminal, and otherwise writes on.
func newScreen(out io.Writer) *screen {
	file, ok := out.(*os.File)
	return &screen{out: out, terminal: ok && term.IsTerminal(int(file.Fd()))}
}

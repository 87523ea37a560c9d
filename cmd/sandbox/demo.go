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

	"example.com/podsequence/test/ordercheck"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// demoTimeout is how long one act may take. It takes about ten seconds.
const demoTimeout = 2 * time.Minute

func newDemoCommand(s *settings) *cobra.Command {
	o := demoOptions{}
	command := &cobra.Command{
		Use:   "demo",
		Short: "Start pods in order on a fresh cluster, and let a referee judge the order",
		Long: `Start pods in order on a fresh cluster, and let a referee judge the order.

Act one is a shop of three tiers. The database is two pods by name, the application a Deployment, the frontend a pod. All
name the PodSequence of the shop by a label and nothing else, so they wait for it although it is created last; an admission
policy gives them to podsequence-scheduler. While the application waits, "kubectl podseq why" says what it waits for.

Act two is a storage driver on each of five nodes, and an application. Its pods go to a node when the driver is ready
there. On one node the driver never becomes ready, and no pod goes there.

Act three has the driver in kube-system, where those of real clusters are, and applications in two other namespaces. A
ClusterPodSequence orders all of them.

A referee watches the cluster and says at the end whether any pod was bound before its turn. It shares no code with the
programs that it judges. At the end the demo shows the timeline of the shop, as kubectl podseq draws it.

With --real-nodes only act one is played, in containers: kubelets run them on this machine. At the end the demo shows what the
containers themselves said.

The exit code is that of the referee: 0 only if it saw everything and all of it was right.`,
		Example: `  sandbox demo

  # The shop in containers, on two nodes.
  sandbox demo --real-nodes 2

  # Leave the cluster running, to look around.
  sandbox demo --keep`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo(cmd.Context(), cmd.OutOrStdout(), s, o)
		},
	}
	command.Flags().BoolVar(&o.keep, "keep", false, "leave the cluster running at the end; the last lines say how to use and stop it")
	command.Flags().IntVar(&o.realNodes, "real-nodes", 0, "play the shop in containers, on this `number` of nodes with kubelets; sandbox node check says whether this machine can")
	return command
}

type demoOptions struct {
	keep      bool
	realNodes int
}

func demo(ctx context.Context, out io.Writer, s *settings, o demoOptions) (err error) {
	flags := &upFlags{nodes: demoNodes, detach: o.keep}
	if o.realNodes > 0 {
		flags.nodes, flags.realNodes = 0, o.realNodes
	}
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
		if o.keep {
			fmt.Fprintf(out, "\nThe cluster is still up. To use it, and to stop it:\n\n  export KUBECONFIG=%s\n  %s down --dir %s\n",
				cluster.Kubeconfig(), os.Args[0], s.dir)
			return
		}
		err = errors.Join(err, cluster.Stop(context.WithoutCancel(ctx)))
	}()

	etcd, err := cluster.EtcdConfig()
	if err != nil {
		return err
	}
	referee, err := ordercheck.Start(ctx, etcd, ordercheck.Options{UnprobedReady: shippedUnprobedReadySeconds * time.Second})
	if err != nil {
		return err
	}
	defer referee.Stop()

	if o.realNodes > 0 {
		err = playContainers(ctx, out, cluster, referee, s.dir)
	} else {
		err = playActs(ctx, out, cluster, referee)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "\nThe same shop as its users see it, from API objects alone:")
	return podseq(ctx, out, cluster, "timeline", shopDemo.Name)
}

// playActs plays all acts on simulated nodes.
func playActs(ctx context.Context, out io.Writer, cluster *controlplane.Cluster, referee *ordercheck.Referee) error {
	fmt.Fprintln(out, "Act one, across the cluster: database, application and frontend of a shop, and then the PodSequence")
	if err := playShop(ctx, out, cluster, "demo"); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nAct two, on each node by itself: a storage driver, and ten pods that need it on their node, all at once")
	if err := nodesDemo.play(ctx, out, cluster); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nAct three, across namespaces: a driver in kube-system, and six pods each in orders and billing that need it")
	if err := acrossDemo.play(ctx, out, cluster); err != nil {
		return err
	}
	return judgeDemo(ctx, out, referee, shopDemo, nodesDemo.sequence, acrossDemo.sequence)
}

// followAct shows how a sequence comes along until all has happened that is to happen.
func followAct(ctx context.Context, screen *screen, config *rest.Config, sequence types.NamespacedName, show view) error {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	err := follow(ctx, screen, config, sequence, show)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the sequence %s did not finish within %s: look at the logs", sequence.Name, demoTimeout)
	}
	return err
}

func judgeDemo(ctx context.Context, out io.Writer, referee *ordercheck.Referee, sequences ...types.NamespacedName) error {
	history := referee.History(ctx)
	for _, sequence := range sequences {
		timeline, err := ordercheck.NewTimeline(history, sequence)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n%s\n", timeline)
	}
	verdict := ordercheck.Judge(history, ordercheck.JudgeOptions{UnprobedReady: shippedUnprobedReadySeconds * time.Second})
	fmt.Fprintf(out, "\nThe referee %s\n", verdict)
	if code := verdict.ExitCode(); code != ordercheck.ExitClean {
		return exitError{errors.New("the verdict is not clean"), code}
	}
	return nil
}

// newScreen draws over what it drew before if out is a terminal, and otherwise writes on.
func newScreen(out io.Writer) *screen {
	file, ok := out.(*os.File)
	return &screen{out: out, terminal: ok && term.IsTerminal(int(file.Fd())), began: time.Now()}
}

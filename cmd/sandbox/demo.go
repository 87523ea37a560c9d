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
programs that it judges. At the end the demo shows the timeline of the shop, as kubectl podseq draws it. Where the output is no
terminal, the demo prints a table only when something important has happened.

With --real-nodes the demo plays only act one, in containers: kubelets run them on this machine. At the end it shows what the
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
	return endDemo(ctx, out, cluster)
}

// endDemo shows the timeline of the shop, and says what to try next.
func endDemo(ctx context.Context, out io.Writer, cluster *controlplane.Cluster) error {
	fmt.Fprintln(out, "\nThe timeline of the shop, which users draw with the kubectl plugin:")
	if err := podseq(ctx, out, cluster, "timeline", shopDemo.Name); err != nil {
		return err
	}
	fmt.Fprint(out, whatNext)
	return nil
}

const whatNext = `
What to try next:
  make demo KEEP=1        play it again, and keep the cluster for your kubectl
  docs/quickstart.md      write a sequence of your own, on this machine
  docs/when-to-use.md     see whether PodSequence is what you need
`

// playActs plays all acts on simulated nodes.
func playActs(ctx context.Context, out io.Writer, cluster *controlplane.Cluster, referee *ordercheck.Referee) error {
	fmt.Fprintln(out, "Act one: a shop. All pods are created at once, and the PodSequence last. The frontend must wait for the application, and the\n"+
		"application for both pods of the database.")
	if err := playShop(ctx, out, cluster, "demo"); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nEach tier started when all pods of the tier before it were ready.\n\n"+
		"Act two: a storage driver on each node. Ten pods need it on their own node. The driver is ready after 1 to 6 seconds; on node-4\n"+
		"it never is, so that no pod may start there.")
	if err := nodesDemo.play(ctx, out, cluster); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nAll ten pods run, each on a node whose driver was ready. No pod is on node-4.\n\n"+
		"Act three: the driver is in kube-system, and the pods are in two other namespaces. A ClusterPodSequence orders all of them.")
	if err := acrossDemo.play(ctx, out, cluster); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nAll twelve pods run, in both namespaces, and again none on node-4.")
	return judgeDemo(ctx, out, referee)
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

// judgeDemo draws the timelines of these sequences, and prints what the referee says of all.
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
	fmt.Fprintf(out, "\nThe verdict of a referee that shares no code with PodSequence:\n%s\n", verdict)
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

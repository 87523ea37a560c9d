package podseqctl

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/podsequence/pkg/podseqctl/explain"
)

func (t *tool) newTree() *cobra.Command {
	var output string
	var watch, all bool
	command := &cobra.Command{
		Use:   "tree NAME",
		Short: "Show the groups of a sequence, their workloads, and the pods of these",
		Example: `  # Groups, workloads and pods.
  kubectl podseq tree backend

  # Every pod, again whenever something changes.
  kubectl podseq tree clusterpodsequence/platform --all -w`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.completeSequences,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output, "json", "yaml"); err != nil {
				return err
			}
			namespace, err := t.namespace()
			if err != nil {
				return err
			}
			return t.live(cmd.Context(), watch, namespace, func() error {
				return t.tree(cmd.Context(), namespace, args[0], output, all)
			})
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "", "json or yaml")
	command.Flags().BoolVarP(&watch, "watch", "w", false, "print again whenever something changes")
	command.Flags().BoolVar(&all, "all", false, "list all pods: long lists are not cut")
	return command
}

func (t *tool) tree(ctx context.Context, namespace, argument, output string, all bool) error {
	s, err := t.find(ctx, argument)
	if err != nil {
		return err
	}
	world, err := t.snapshotOf(ctx, s, namespace)
	if err != nil {
		return err
	}
	e := &explain.Explainer{Snapshot: world, Namespace: namespace}
	tree := e.Tree(world.Sequence(s.Key()))
	if isEncoded(output) {
		return t.print(output, tree)
	}
	tree.Lines(all).Print(t.Out, t.style)
	t.tellUnread(world.Unread)
	return nil
}

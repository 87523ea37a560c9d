package podseqctl

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/podsequence/pkg/podseqctl/explain"
)

func (t *tool) newTree() *cobra.Command {
	return t.answering(&cobra.Command{
		Use:   "tree NAME",
		Short: "Show the groups of a sequence, with their workloads and pods",
		Example: `  # Groups, workloads and pods.
  kubectl podseq tree backend

  # Every pod, printed again when something changes.
  kubectl podseq tree clusterpodsequence/platform --all -w`,
		ValidArgsFunction: t.completeSequences,
	}, t.tree)
}

func (t *tool) tree(ctx context.Context, namespace, argument string, all bool) (answer, error) {
	s, err := t.find(ctx, argument)
	if err != nil {
		return answer{}, err
	}
	world, err := t.snapshotOf(ctx, s, namespace)
	if err != nil {
		return answer{}, err
	}
	e := &explain.Explainer{Snapshot: world, Namespace: namespace}
	tree := e.Tree(world.Sequence(s.Key()))
	return answer{value: tree, lines: tree.Lines(all), unread: world.Unread}, nil
}

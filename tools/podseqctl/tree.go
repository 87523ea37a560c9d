package podseqctl

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/podsequence/tools/podseqctl/explain"
	"example.com/podsequence/tools/podseqctl/text"
)

// treeCommand shows what waits for what.
type treeCommand struct{ *tool }

func (t treeCommand) command() *cobra.Command {
	return t.answering(&cobra.Command{
		Use:   "tree [NAME]",
		Short: "Show groups, workloads and pods of a sequence, or of all sequences of a namespace",
		Example: `  # Groups, workloads and pods.
  kubectl podseq tree backend

  # Of all sequences that order pods of the namespace.
  kubectl podseq tree

  # Every pod, printed again when something changes.
  kubectl podseq tree clusterpodsequence/platform --all -w`,
		Args:              func(cmd *cobra.Command, args []string) error { return atMost(1, cmd, args) },
		ValidArgsFunction: t.completion().sequences,
	}, t.tree)
}

func (t treeCommand) tree(ctx context.Context, namespace, argument string, all bool) (answer, error) {
	if argument == "" {
		return t.trees(ctx, namespace, all)
	}
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
	return answer{value: tree, lines: []text.Node{tree.Lines(all)}, unread: world.Unread}, nil
}

// trees shows all sequences that are in a namespace or order its pods.
func (t treeCommand) trees(ctx context.Context, namespace string, all bool) (answer, error) {
	source, err := t.connect()
	if err != nil {
		return answer{}, err
	}
	if _, _, err := source.List(ctx, namespace); err != nil { // it says why none can be listed
		return answer{}, err
	}
	world, err := t.snapshot(ctx, namespace)
	if err != nil {
		return answer{}, err
	}
	e := &explain.Explainer{Snapshot: world, Namespace: namespace}
	found := answer{unread: world.Unread}
	trees := []explain.SequenceTree{}
	for _, s := range world.Sequences {
		if s.IsCluster() || s.Key().Namespace == namespace || s.Target == namespace {
			tree := e.Tree(s)
			trees = append(trees, tree)
			found.lines = append(found.lines, tree.Lines(all))
		}
	}
	if found.value = trees; len(trees) == 0 {
		found.none = nothingIn(namespace)
	}
	return found, nil
}

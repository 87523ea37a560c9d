package podseqctl

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/podsequence/tools/podseqctl/snapshot"
	"example.com/podsequence/tools/podseqctl/timeline"
)

// timelineCommand shows when the pods of a sequence started.
type timelineCommand struct{ *tool }

func (t timelineCommand) command() *cobra.Command {
	var output string
	var all bool
	command := &cobra.Command{
		Use:   "timeline NAME",
		Short: "Show when each pod was created, released, bound and ready, and what delayed the sequence",
		Long: `Show when each pod of a sequence was created, held, released, bound and ready. Also show the critical path: the pods that
delayed the sequence, and how much time you would save if they were faster.

The times come from API objects. They are whole seconds, and pods that no longer exist are not shown.`,
		Example: `  # In the terminal.
  kubectl podseq timeline backend

  # A picture, or a page with all numbers.
  kubectl podseq timeline backend -o svg > backend.svg
  kubectl podseq timeline backend -o html > backend.html`,
		Args:              t.needName,
		ValidArgsFunction: t.completion().sequences,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output, "text", "svg", "html", "json", "yaml"); err != nil {
				return err
			}
			return t.timeline(cmd.Context(), args[0], output, all)
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "text", "output `format`: text, svg, html, json or yaml")
	command.Flags().BoolVar(&all, "all", false, "show all pods; without it only the slowest of a large group are shown")
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "svg", "html", "json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
	return command
}

func (t timelineCommand) timeline(ctx context.Context, argument, output string, all bool) error {
	namespace, err := t.namespace()
	if err != nil {
		return err
	}
	s, err := t.find(ctx, argument)
	if err != nil {
		return err
	}
	world, err := t.snapshotOf(ctx, s, namespace)
	if err != nil {
		return err
	}
	s = world.Sequence(s.Key())
	if why, judged := world.Judged(s); !judged {
		err := fmt.Errorf("the pods of %s cannot be shown: %s", s, why)
		if len(world.Denied) > 0 {
			err = fmt.Errorf("%w; %s", err, snapshot.AskFor("view", world.DeniedNamespace()))
		}
		return err
	}
	return t.printTimeline(timeline.New(world, s), world, output, all)
}

func (t timelineCommand) printTimeline(line *timeline.Timeline, world *snapshot.Snapshot, output string, all bool) error {
	switch output {
	case "svg":
		return line.SVG(t.Out, all)
	case "html":
		return line.HTML(t.Out, all)
	case "json", "yaml":
		return t.print(output, line)
	}
	line.Text(t.Out, t.style, all)
	t.tellUnread(world.Unread)
	return nil
}

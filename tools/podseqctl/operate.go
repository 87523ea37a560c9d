package podseqctl

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/podsequence/tools/podseqctl/operate"
	"example.com/podsequence/tools/podseqctl/snapshot"
	"example.com/podsequence/tools/podseqctl/text"
)

const changeNote = `
The command changes annotations of the sequence and never its spec, so kubectl apply, Argo CD and Flux do not revert the
change. To change what the spec says, edit the manifest.

With --for the change ends by itself. All overrides of a sequence end at the same time: a command that would move the end
of the others refuses, unless you add --for-all.

The command sends one patch, which the API server refuses if somebody else changed the object in the meantime. It also
writes an event on the sequence that says who made the change and why. Only skip requires --reason, because it gives up a
part of the order. You need the role edit in the namespace.`

// changeCommand changes annotations of a sequence.
type changeCommand struct{ *tool }

func (t changeCommand) suspend() *cobra.Command {
	return t.complete(&cobra.Command{
		Use:   "suspend NAME [--for 2h] [--reason WHY]",
		Short: "Stop releasing pods; pods that were released stay",
		Example: `  # Stop for two hours, and say why.
  kubectl podseq suspend backend --for 2h --reason "the database is being restored"

  # Check that the API server would accept it, without changing anything.
  kubectl podseq suspend backend --dry-run=server`,
		Args: t.needName, ValidArgsFunction: t.completion().sequences,
	}, changeTakes{end: true}, func(s *snapshot.Sequence, _ []string) (operate.Change, error) {
		return operate.Suspend(s, t.clock.Now())
	})
}

func (t changeCommand) resume() *cobra.Command {
	return t.complete(&cobra.Command{
		Use:     "resume NAME [--reason WHY]",
		Short:   "End a suspension",
		Example: `  kubectl podseq resume backend --reason "the database is restored"`,
		Args:    t.needName, ValidArgsFunction: t.completion().sequences,
	}, changeTakes{}, func(s *snapshot.Sequence, _ []string) (operate.Change, error) {
		return operate.Resume(s, t.clock.Now())
	})
}

func (t changeCommand) skip() *cobra.Command {
	return t.complete(&cobra.Command{
		Use:   "skip NAME GROUP --reason WHY [--for 2h]",
		Short: "Skip a group: later groups no longer wait for it; its own pods still start as usual",
		Example: `  # Go on without the migration. GROUP is a name, a number from 1, or a place such as 2/3.
  kubectl podseq skip backend Migration --reason "fixed by hand, see the incident"`,
		Args: t.needGroup, ValidArgsFunction: t.completion().groups,
	}, changeTakes{end: true, reason: true}, t.ofGroup(operate.Skip))
}

func (t changeCommand) unskip() *cobra.Command {
	return t.complete(&cobra.Command{
		Use:     "unskip NAME GROUP [--reason WHY]",
		Short:   "End the skip of a group: later groups wait for it again; pods that were released stay",
		Example: `  kubectl podseq unskip backend Migration --reason "the migration works again"`,
		Args:    t.needGroup, ValidArgsFunction: t.completion().groups,
	}, changeTakes{}, t.ofGroup(operate.Unskip))
}

// ofGroup returns what makes a change of the group that an argument names.
func (t changeCommand) ofGroup(choose func(*snapshot.Sequence, int, time.Time) (operate.Change, error)) func(*snapshot.Sequence, []string) (operate.Change, error) {
	return func(s *snapshot.Sequence, args []string) (operate.Change, error) {
		group, err := s.GroupNamed(args[1])
		if err != nil {
			return operate.Change{}, err
		}
		return choose(s, group, t.clock.Now())
	}
}

// changeTakes says which flags a command has: an end, and a reason that must be given.
type changeTakes struct{ end, reason bool }

// complete completes a command that changes a sequence.
func (t changeCommand) complete(command *cobra.Command, takes changeTakes, choose func(*snapshot.Sequence, []string) (operate.Change, error)) *cobra.Command {
	var reason, dryRun string
	var lasts time.Duration
	var forAll bool
	command.Long = command.Short + ".\n" + changeNote
	command.RunE = func(cmd *cobra.Command, args []string) error {
		if dryRun != "none" && dryRun != "server" {
			return fmt.Errorf("--dry-run=%s is not known: give none or server", dryRun)
		}
		if lasts < 0 || (lasts == 0 && cmd.Flags().Changed("for")) {
			return fmt.Errorf("--for=%s must be longer than 0: give a time such as 30m or 2h", lasts)
		}
		s, err := t.find(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if _, err := choose(s, args); err != nil {
			return err
		}
		if takes.reason && strings.TrimSpace(reason) == "" {
			return fmt.Errorf(`--reason is required: it is recorded in an event on %s; for example --reason "fixed by hand"`, s)
		}
		options := operate.Options{Reason: reason, For: lasts, ForAll: forAll, DryRun: dryRun == "server", Now: t.clock.Now()}
		return t.change(cmd.Context(), s, args, options, choose)
	}
	command.Flags().StringVar(&reason, "reason", "", "`text` that says why you do this; it goes into an event on the sequence and into its status")
	if takes.end {
		command.Flags().DurationVar(&lasts, "for", 0, "`time` after which the change ends by itself, such as 2h; without it, the change stays until you undo it")
		command.Flags().BoolVar(&forAll, "for-all", false, "move the end of all other overrides of the sequence, too")
	}
	command.Flags().StringVar(&dryRun, "dry-run", "none", "none, or server: the API server checks the change but does not store it")
	_ = command.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]string{"none", "server"}, cobra.ShellCompDirectiveNoFileComp))
	return command
}

func (t changeCommand) change(ctx context.Context, s *snapshot.Sequence, args []string, options operate.Options,
	choose func(*snapshot.Sequence, []string) (operate.Change, error),
) error {
	api, ok := t.source.(operate.API)
	if !ok {
		return fmt.Errorf("%s cannot be changed here", s)
	}
	change, result, err := operate.Apply(ctx, api, s,
		func(s *snapshot.Sequence) (operate.Change, error) { return choose(s, args) }, options)
	if err != nil {
		return err
	}
	line := s.String() + " " + change.Did
	if change.Target != "" {
		line = fmt.Sprintf("%s: %s %s", s, change.Target, change.Did)
	}
	switch {
	case result.Unchanged:
		line += " already: nothing was changed, and no event was written"
	case change.SetsEnd && options.For > 0:
		line += " until " + options.Now.Add(options.For).UTC().Format(time.RFC3339)
	}
	if options.DryRun {
		line += " (server dry run)"
	}
	fmt.Fprintln(t.Out, line)
	if result.NoEvent != nil {
		fmt.Fprintln(t.ErrOut, t.style.Paint(text.Active, fmt.Sprintf("warning: the change is made, but the event that says who made it was not written: %v", result.NoEvent)))
	}
	return nil
}

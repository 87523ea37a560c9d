package podseqctl

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/podsequence/tools/podseqctl/text"
)

// answer is what a command finds out.
type answer struct {
	value  any         // for programs
	lines  []text.Node // for people
	none   string      // that there is nothing; empty if there is something
	unread []string    // what may not be read
}

// answering completes a command that answers a question about its argument, which is empty if there is none: once, or again whenever
// something changes. all asks for everything; otherwise long lists are cut.
func (t *tool) answering(command *cobra.Command, find func(ctx context.Context, namespace, argument string, all bool) (answer, error)) *cobra.Command {
	var output string
	var watch, all bool
	command.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkOutput(output, "json", "yaml"); err != nil {
			return err
		}
		namespace, err := t.namespace()
		if err != nil {
			return err
		}
		return t.live(cmd.Context(), watch, namespace, func() error {
			found, err := find(cmd.Context(), namespace, strings.Join(args, ""), all)
			if err != nil {
				return err
			}
			if isEncoded(output) {
				err = t.print(output, found.value)
			} else {
				for i, lines := range found.lines {
					if i > 0 {
						fmt.Fprintln(t.Out)
					}
					lines.Print(t.Out, t.style)
				}
			}
			if found.none != "" {
				fmt.Fprintln(t.ErrOut, found.none)
			}
			t.tellUnread(found.unread)
			return err
		})
	}
	command.Flags().StringVarP(&output, "output", "o", "", "output `format`: json or yaml")
	command.Flags().BoolVarP(&watch, "watch", "w", false, "print again when something changes, until Ctrl-C")
	command.Flags().BoolVar(&all, "all", false, "list everything; without it long lists are cut")
	return command
}

// live prints once, and again whenever something has changed if the user watches.
func (t *tool) live(ctx context.Context, watch bool, namespace string, print func() error) error {
	if !watch {
		return print()
	}
	source, err := t.connect()
	if err != nil {
		return err
	}
	changed, err := source.Changed(ctx, namespace)
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		switch {
		case t.style.Colours:
			fmt.Fprint(t.Out, t.style.Clear()) // the terminal shows the newest state only
		case !first:
			fmt.Fprintln(t.Out)
		}
		if err := print(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		select { // what changes at the same time is printed once
		case <-ctx.Done():
			return nil
		case <-time.After(redrawInterval):
		}
	}
}

// redrawInterval is how often a live view is drawn at most.
const redrawInterval = 500 * time.Millisecond

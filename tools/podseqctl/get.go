package podseqctl

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"example.com/podsequence/tools/podseqctl/overview"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// getCommand lists sequences.
type getCommand struct{ *tool }

func (t getCommand) command() *cobra.Command {
	var output string
	var watch, all, managed bool
	command := &cobra.Command{
		Use:   "get [NAME]",
		Short: "Show the progress of all sequences of a namespace, or of the groups of one sequence",
		Long: `Show the progress of sequences.

Without a name it prints a line for each sequence: how many groups are passed, the current group and how many of its pods are
ready, how many pods of all groups are ready, and how long the group has been the current one. With a name it prints the groups
of that sequence, or its graph, and what each group waits for. It reads the status of the sequences, which podsequence-controller writes.

-o json and -o yaml print the stored object if you give its name, and a List otherwise.`,
		Example: `  # All sequences of the namespace.
  kubectl podseq get

  # The groups of one, printed again when something changes.
  kubectl podseq get backend -w

  # The sequences of all namespaces, with the message in their status.
  kubectl podseq get -A -o wide`,
		Args:              func(cmd *cobra.Command, args []string) error { return atMost(1, cmd, args) },
		ValidArgsFunction: t.completion().sequences,
		RunE: func(cmd *cobra.Command, args []string) error {
			namespace, err := t.namespace()
			if err != nil {
				return err
			}
			if all {
				namespace = ""
			}
			if err := checkOutput(output, "wide", "json", "yaml"); err != nil {
				return err
			}
			return t.live(cmd.Context(), watch, namespace, func() error {
				return t.get(cmd.Context(), namespace, args, output, managed)
			})
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "", "output `format`: wide, json or yaml")
	command.Flags().BoolVarP(&watch, "watch", "w", false, "print again when something changes, until Ctrl-C")
	command.Flags().BoolVarP(&all, "all-namespaces", "A", false, "show the sequences of all namespaces")
	command.Flags().BoolVar(&managed, "show-managed-fields", false, "keep metadata.managedFields in JSON and YAML output")
	return command
}

func (t getCommand) get(ctx context.Context, namespace string, args []string, output string, managed bool) error {
	printer := &overview.Printer{Out: t.Out, Style: t.style, Now: t.clock.Now(), Namespaces: namespace == "", Wide: output == "wide"}
	if len(args) == 1 {
		s, err := t.find(ctx, args[0])
		if err != nil {
			return err
		}
		if isEncoded(output) {
			return t.printObject(output, managed, s.Object.DeepCopy())
		}
		printer.Detail(s)
		return nil
	}
	source, err := t.connect()
	if err != nil {
		return err
	}
	sequences, unread, err := source.List(ctx, namespace)
	if err != nil {
		return err
	}
	slices.SortFunc(sequences, snapshot.Compare)
	t.tellUnread(unread)
	if isEncoded(output) {
		return t.printObject(output, managed, listOf(sequences))
	}
	if len(sequences) == 0 {
		fmt.Fprintln(t.ErrOut, nothingIn(namespace))
		return nil
	}
	printer.List(sequences)
	return nil
}

func nothingIn(namespace string) string {
	if namespace == "" {
		return "No sequences found."
	}
	return fmt.Sprintf("No sequences found in namespace %s.", namespace)
}

// printObject prints a stored object, or a list of them.
func (t getCommand) printObject(format string, managed bool, object runtime.Object) error {
	flags := genericclioptions.NewJSONYamlPrintFlags()
	flags.ShowManagedFields = managed
	printer, err := flags.ToPrinter(format)
	if err != nil {
		return fmt.Errorf("make printer: %w", err)
	}
	var encoded bytes.Buffer
	if err := printer.PrintObj(object, &encoded); err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	return t.writeEncoded(format, encoded.Bytes())
}

// listOf returns the stored objects as a List, as kubectl prints what was not asked for by name: also if there is one, or none.
func listOf(sequences []*snapshot.Sequence) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	for _, s := range sequences {
		list.Items = append(list.Items, *s.Object.DeepCopy())
	}
	return list
}

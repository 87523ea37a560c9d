package podseqctl

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/podsequence/tools/podseqctl/compose"
)

// importCommand translates other formats.
type importCommand struct{ *tool }

func (t importCommand) command() *cobra.Command {
	command := &cobra.Command{
		Use:   "import",
		Short: "Convert the start-up order in a file of another tool to a PodSequence",
		Example: `  # From a compose file.
  kubectl podseq import compose compose.yaml`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%s is not a kind of file that can be imported: usage: kubectl podseq import compose FILE", args[0])
			}
			return cmd.Help()
		},
	}
	command.AddCommand(t.newImportCompose())
	return command
}

func (t importCommand) newImportCompose() *cobra.Command {
	var o compose.Options
	var output string
	command := &cobra.Command{
		Use:   "compose [FILE...]",
		Short: "Convert depends_on in a compose file to a PodSequence, for the pods that kompose generates",
		Long: `Convert depends_on in a compose file to a PodSequence, and print it. The command needs no cluster.

Each service that depends on another one, or that another one depends on, becomes a group. The group selects the pods that
kompose generates for the service, by the label io.kompose.service, and depends on the groups of its depends_on. What its pods must
reach follows from the condition:

  service_started                  requiredStatus: Started
  service_healthy                  requiredStatus: Ready
  service_completed_successfully   requiredStatus: Complete

Dependencies that follow from others are left out: a group also waits for what comes before the groups of its dependsOn.

Notes on standard error say where Kubernetes differs from Compose, such as a healthcheck that becomes no readiness probe.

Files are read as Compose reads them: later files override earlier ones, include and extends are followed, and variables come
from the environment and .env. Without FILE it reads what Compose finds in the directory. FILE - reads standard input.`,
		Example: `  # Print the PodSequence.
  kubectl podseq import compose compose.yaml

  # Let PodSequence hold the new pods of the namespace, then apply the order, then the workloads.
  kubectl label namespace shop podsequence.example.com/scheduling=enabled
  kubectl podseq import compose compose.yaml | kubectl apply -n shop -f -
  kompose convert -f compose.yaml --stdout | kubectl apply -n shop -f -

  # With an override and the services of a profile.
  kubectl podseq import compose compose.yaml compose.prod.yaml --profile jobs`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Files = args
			return t.importCompose(cmd.Context(), o, output)
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.Name, "name", "", "`name` of the PodSequence; the name of the project by default")
	flags.StringSliceVar(&o.Profiles, "profile", nil, "`profiles` whose services are imported, too; those of COMPOSE_PROFILES by default")
	flags.StringVarP(&output, "output", "o", "yaml", "output `format`: json or yaml")
	return command
}

func (t importCommand) importCompose(ctx context.Context, o compose.Options, output string) error {
	if err := checkOutput(output, "json", "yaml"); err != nil {
		return err
	}
	sequence, notes, err := compose.Import(ctx, o)
	if err != nil {
		return err
	}
	namespace := "NAMESPACE"
	if t.flags.Namespace != nil && *t.flags.Namespace != "" {
		namespace = *t.flags.Namespace
		sequence.Namespace = namespace
	}
	if err := t.print(output, sequence); err != nil {
		return err
	}
	t.tellUnread(append(notes, fmt.Sprintf("next: let PodSequence hold the new pods, because kompose copies no label of the file to pods: "+
		"kubectl label namespace %s podsequence.example.com/scheduling=enabled; then apply this, and after it the output of kompose convert",
		namespace)))
	return nil
}

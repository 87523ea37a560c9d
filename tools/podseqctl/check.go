package podseqctl

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"example.com/podsequence/internal/version"
	"example.com/podsequence/tools/podseqctl/check"
)

// leasePeriod is longer than a leader takes to renew its lease.
const leasePeriod = 5 * time.Second

// checkCommand finds out whether PodSequence works in the cluster.
type checkCommand struct{ *tool }

func (t checkCommand) command() *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "check",
		Short: "Check the installation: what runs, who leads, what waits, and what is wrong",
		Long: `Check the installation, on one screen.

It says which kinds and policies are installed, whether podsequence-scheduler and podsequence-controller run and lead, whether
their versions fit, which sequences are degraded, how many pods are held, and what you may do. Each line that is not OK is
followed by what to do. Run it first when pods do not start.

A line about objects that you may not read is Unknown. The exit code is 1 if something is wrong.`,
		Example: `  # What is wrong?
  kubectl podseq check

  # What may I do in this namespace?
  kubectl podseq check -n shop

  # For scripts.
  kubectl podseq check -o json`,
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output, "json", "yaml"); err != nil {
				return err
			}
			namespace, err := t.namespace()
			if err != nil {
				return err
			}
			source, err := t.connect()
			if err != nil {
				return err
			}
			api, ok := source.(*apiSource)
			if !ok {
				return errors.New("only a cluster can be checked")
			}
			reader := &check.Reader{Core: api.core, Dynamic: api.dynamic}
			report, err := reader.Examine(cmd.Context(), check.Options{
				Namespace: namespace, Installation: t.config.InstallationNamespace, SchedulerNames: t.config.SchedulerNames,
				Version: version.Release(), Kubernetes: version.Kubernetes(), Now: t.clock.Now(), Again: leasePeriod,
			})
			if err != nil {
				return err
			}
			if isEncoded(output) {
				err = t.print(output, report)
			} else {
				report.Print(t.Out, t.style)
			}
			if err != nil {
				return err
			}
			switch wrong := report.Wrong(); wrong {
			case 0:
				return nil
			case 1:
				return errors.New("1 check found something wrong")
			default:
				return fmt.Errorf("%d checks found something wrong", wrong)
			}
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "", "output `format`: json or yaml")
	return command
}

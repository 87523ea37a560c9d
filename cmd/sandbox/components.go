package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"example.com/podsequence/tools/sandbox/controlplane"
)

func newStatusCommand(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "List the components of a cluster and their states",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := controlplane.Open(s.dir)
			if err != nil {
				return err
			}
			statuses, err := cluster.Status(cmd.Context())
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 3, ' ', 0)
			fmt.Fprintln(table, "COMPONENT\tSTATE\tPID\tURL")
			for _, status := range statuses {
				fmt.Fprintf(table, "%s\t%s\t%d\t%s\n", status.Name, state(status), status.PID, status.URL)
			}
			if err := table.Flush(); err != nil {
				return err
			}
			return printRealNodes(cmd.Context(), cmd.OutOrStdout(), cluster, statuses)
		},
	}
}

// printRealNodes lists what each real node does, if the cluster has any.
func printRealNodes(ctx context.Context, out io.Writer, cluster *controlplane.Cluster, components []controlplane.ComponentStatus) error {
	if !slices.ContainsFunc(components, func(status controlplane.ComponentStatus) bool {
		return status.Name == controlplane.RealNodes && status.Problem == nil
	}) {
		return nil
	}
	nodes, err := cluster.RealNodes(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "\nNODE\tSTATE")
	for _, node := range nodes {
		fmt.Fprintf(table, "%s\t%s\n", node.Name, node.State)
	}
	return table.Flush()
}

func state(status controlplane.ComponentStatus) string {
	switch {
	case status.Problem == nil:
		return "ready"
	case errors.Is(status.Problem, os.ErrProcessDone):
		return "stopped"
	default:
		return "not ready"
	}
}

func newKillCommand(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:       "kill COMPONENT",
		Short:     "Kill a component, as if it had crashed",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: controlplane.Components(),
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, err := controlplane.Open(s.dir)
			if err != nil {
				return err
			}
			if err := cluster.Kill(cmd.Context(), args[0]); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s killed. Start it again with \"sandbox start %[1]s\".\n", args[0])
			return nil
		},
	}
}

func newStartCommand(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:       "start COMPONENT",
		Short:     "Start a component that was killed",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: controlplane.Components(),
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, err := controlplane.Open(s.dir)
			if err != nil {
				return err
			}
			begin := time.Now()
			if err := cluster.StartComponent(cmd.Context(), args[0]); err != nil {
				return err
			}
			printStep(cmd.OutOrStdout(), controlplane.Step{Name: args[0], State: "ready", Took: time.Since(begin)})
			return nil
		},
	}
}

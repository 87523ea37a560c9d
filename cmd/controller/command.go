package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"example.com/podsequence/internal/version"
)

const help = `podsequence-controller reports how far PodSequences have come, and releases pods that other schedulers place.

It does five things:

  Status. It writes the status of every PodSequence, and events for what is new in it.

  Gates. A pod whose scheduler is none of --scheduler-names waits by a scheduling gate in
  spec.schedulingGates. When its group may start, the controller removes the gate of its PodSequence,
  and no other; while it waits, its PodScheduled condition says what for. Pods of --scheduler-names
  are left to their scheduler.

  Steps. It runs the containers of every SequentialJob one after another, each by a Job of its own.

  Rollouts. It has the Deployments of a DeploymentCoordination roll out one at a time: those that wait
  are paused.

  Pod groups. When all pods of a group run, which its size says, it gives each of them a label.

--controllers chooses among them: podsequence does the first two, then come sequentialjob,
deploymentcoordination and podgroup. A kind that is not installed yet is waited for.

For pods it works beside podsequence-scheduler, and also alone (lite mode): then every pod that is to wait
must carry a gate.

Of several replicas one works at a time; the others wait for its lease.`

const examples = `  # In a cluster, beside podsequence-scheduler.
  podsequence-controller

  # On a workstation, against the cluster of the current kubeconfig context.
  podsequence-controller --kubeconfig ~/.kube/config --leader-elect=false --metrics-secure=false --metrics-bind-address 127.0.0.1:8080

  # Run SequentialJobs alone.
  podsequence-controller --controllers=sequentialjob

  # Write status only: no gate is lifted and no pod is written to.
  podsequence-controller --gate-release=false`

func newCommand() *cobra.Command {
	o := defaultOptions()
	logging := logsapi.NewLoggingConfiguration()
	command := &cobra.Command{
		Use:     "podsequence-controller",
		Short:   "Writes the status of PodSequences and lifts the gates of other schedulers' pods",
		Long:    help,
		Example: examples,
		Args:    cobra.NoArgs,
		Version: version.String(),
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if err := logsapi.ValidateAndApply(logging, nil); err != nil {
				return fmt.Errorf("apply logging flags: %w", err)
			}
			ctrl.SetLogger(klog.Background())
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return fmt.Errorf("validate flags: %w", err)
			}
			return run(cmd.Context(), o)
		},
	}
	command.SetVersionTemplate("{{.Version}}\n")
	o.addFlags(command.Flags())
	logsapi.AddFlags(logging, command.Flags())
	command.AddCommand(newUndeployCommand(), newUninstallCommand())
	return command
}

func run(ctx context.Context, o *options) error {
	mgr, err := newManager(o)
	if err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Starting", "version", version.String())
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run manager: %w", err)
	}
	return nil
}

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

const help = `podsequence-controller writes the status of PodSequences, and releases pods that other schedulers place.

It does five things:

  Status. It writes the status of every PodSequence and ClusterPodSequence, and an event for each change
  that matters.

  Gates. A pod of a scheduler that --scheduler-names does not name waits by means of a scheduling gate in
  spec.schedulingGates. When the group of the pod is released, the controller removes the gate of the
  PodSequence, and no other gate. Until then the PodScheduled condition of the pod says what it waits for.

  Steps. It runs the containers of every SequentialJob one after another, each in a Job of its own.

  Rollouts. It lets the Deployments of a DeploymentCoordination roll out one at a time, and pauses those
  that wait.

  Pod groups. It labels the pods of a group when all of them run.

--controllers chooses among them: podsequence (status and gates), sequentialjob, deploymentcoordination and
podgroup. If a kind is not installed yet, its controller waits for it.

The controller works beside podsequence-scheduler, or alone (lite mode). Alone it holds only pods that carry
a gate.

Run several replicas for availability: one works, and the others wait for its Lease.`

const examples = `  # In a cluster, beside podsequence-scheduler.
  podsequence-controller

  # On a workstation, against the cluster of the current kubeconfig context.
  podsequence-controller --kubeconfig ~/.kube/config --leader-elect=false --metrics-secure=false --metrics-bind-address 127.0.0.1:8080

  # Run only the controller of SequentialJobs.
  podsequence-controller --controllers=sequentialjob

  # Write status only: lift no gates and write to no pods.
  podsequence-controller --gate-release=false`

func newCommand() *cobra.Command {
	o := defaultOptions()
	logging := logsapi.NewLoggingConfiguration()
	command := &cobra.Command{
		Use:     "podsequence-controller",
		Short:   "Write the status of PodSequences, and lift the gates of pods of other schedulers",
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
	klog.FromContext(ctx).Info("Starting", "version", version.String())
	config, err := o.restConfig()
	if err != nil {
		return err
	}
	if err := o.awaitAPIServer(ctx, config); ctx.Err() != nil {
		return nil // told to end
	} else if err != nil {
		return err
	}
	mgr, err := newManager(o, config)
	if err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run manager: %w", err)
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// defaultGracePeriod is what kube-controller-manager has.
const defaultGracePeriod = 50 * time.Second

type upFlags struct {
	nodes int

	realNodes              int
	kubeletConfig          string
	nodeMonitorGracePeriod time.Duration

	detach   bool
	auditLog bool
	without  []string

	controlPlane string

	asDefaultScheduler bool

	featureGates, runtimeConfig []string
}

func newUpCommand(s *settings) *cobra.Command {
	flags := &upFlags{}
	command := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster; stop it on Ctrl-C",
		Example: `  # Three nodes, until Ctrl-C.
  sandbox up

  # Ten nodes; leave the cluster running, and stop it later.
  sandbox up --nodes 10 --detach
  sandbox down`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return up(cmd.Context(), cmd.OutOrStdout(), s, flags)
		},
	}
	command.Flags().IntVar(&flags.nodes, "nodes", 3, "`number` of nodes; KWOK simulates them")
	command.Flags().IntVar(&flags.realNodes, "real-nodes", 0,
		"`number` of nodes with kubelet, containerd and containers; \"sandbox node check\" says whether this machine can have them")
	command.Flags().StringVar(&flags.kubeletConfig, "kubelet-config", "",
		"`file` with a KubeletConfiguration for the real nodes, merged over the sandbox's own")
	command.Flags().DurationVar(&flags.nodeMonitorGracePeriod, "node-monitor-grace-period", defaultGracePeriod,
		"how long a node stays ready without a heartbeat, as the flag of kube-controller-manager")
	command.Flags().BoolVar(&flags.detach, "detach", false, "return once the cluster is up, and leave it running")
	command.Flags().BoolVar(&flags.auditLog, "audit-log", false, "record every request to the API server in logs/audit.log")
	command.Flags().StringSliceVar(&flags.without, "without", nil, "`components` that are not started, such as podsequence-scheduler; sandbox status lists all")
	command.Flags().StringVar(&flags.controlPlane, "control-plane", "",
		"`directory` with kube-apiserver, kube-controller-manager and kube-scheduler of another Kubernetes release; make build-control-plane builds them")
	command.Flags().BoolVar(&flags.asDefaultScheduler, "as-default-scheduler", false,
		"run podsequence-scheduler in place of kube-scheduler, so that no workload needs schedulerName")
	command.Flags().StringSliceVar(&flags.featureGates, "feature-gates", nil,
		"feature `gates` of the API server, the controller-manager and the schedulers, such as GenericWorkload=true for gang scheduling")
	command.Flags().StringSliceVar(&flags.runtimeConfig, "runtime-config", nil,
		"API `versions` that the API server serves in addition to its defaults, such as scheduling.k8s.io/v1beta1=true")
	return command
}

func up(ctx context.Context, out io.Writer, s *settings, flags *upFlags) error {
	options, err := flags.options(s.dir)
	if err != nil {
		return err
	}
	options.ServeStages = true
	options.Progress = func(step controlplane.Step) { printStep(out, step) }
	if flags.realNodes > 0 {
		if err := checkRealNodes(s.dir); err != nil {
			return err
		}
		if err := buildRealNodes(ctx, out); err != nil {
			return err
		}
	}
	begin := time.Now()
	cluster, err := controlplane.Start(ctx, options)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe cluster is up after %s. To use it:\n\n  export KUBECONFIG=%s\n\n",
		seconds(time.Since(begin)), cluster.Kubeconfig())
	if flags.detach {
		fmt.Fprintf(out, "Stop it with \"sandbox down --dir %s\".\n", s.dir)
		return nil
	}
	fmt.Fprintln(out, "Ctrl-C stops it.")
	if err := cluster.Wait(ctx); err == nil {
		fmt.Fprintln(out, "Another process has stopped it.")
		return nil
	}
	fmt.Fprintln(out, "\nStopping the cluster.")
	// The end of ctx is why we stop; it must not cut the stopping short.
	return cluster.Stop(context.WithoutCancel(ctx))
}

func (f *upFlags) options(dir string) (controlplane.Options, error) {
	self, err := os.Executable()
	if err != nil {
		return controlplane.Options{}, fmt.Errorf("find the sandbox executable: %w", err)
	}
	names := controlplane.Components()
	for _, name := range f.without {
		if !slices.Contains(names, name) {
			return controlplane.Options{}, fmt.Errorf("leave out %q: no such component, want one of %v", name, names)
		}
	}
	if f.asDefaultScheduler && !slices.Contains(f.without, controlplane.Scheduler) {
		f.without = append(f.without, controlplane.Scheduler)
	}
	wanted := slices.DeleteFunc(names, func(name string) bool { return slices.Contains(f.without, name) })
	return controlplane.Options{
		Dir:          dir,
		Bin:          filepath.Dir(self),
		ControlPlane: f.controlPlane,
		Nodes:        f.nodes,

		RealNodes:              f.realNodes,
		KubeletConfig:          f.kubeletConfig,
		NodeMonitorGracePeriod: f.nodeMonitorGracePeriod,

		Components: wanted,
		AuditLog:   f.auditLog,
		Detach:     f.detach,

		AsDefaultScheduler: f.asDefaultScheduler,

		FeatureGates: f.featureGates, RuntimeConfig: f.runtimeConfig,
	}, nil
}

func newDownCommand(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop every process of a cluster and remove its data; logs stay",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			begin := time.Now()
			err := controlplane.Stop(context.WithoutCancel(cmd.Context()), s.dir)
			if errors.Is(err, controlplane.ErrNoCluster) {
				fmt.Fprintf(cmd.OutOrStdout(), "No sandbox in %s.\n", s.dir)
				return nil
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "The cluster is down after %s.\n", seconds(time.Since(begin)))
			return nil
		},
	}
}

func printStep(out io.Writer, step controlplane.Step) {
	fmt.Fprintf(out, "%-24s%-9s%s\n", step.Name, step.State, seconds(step.Took))
}

func seconds(d time.Duration) string {
	return fmt.Sprintf("%.1fs", d.Seconds())
}

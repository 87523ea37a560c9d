package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/pkg/removal"
)

const undeployHelp = `Removes both programs, their policies and their permissions, and keeps the kinds and their objects.

It deletes what the manifests list, in an order of its own, and gives back what the programs hold:

  - Deployments that a DeploymentCoordination paused are unpaused. Those that their owners paused stay paused.
  - DeploymentCoordinations lose the finalizer that only the controller would remove.
  - SequentialJobs that have not finished are listed.
  - Pods that stay Pending are listed, with the commands that have them scheduled by the cluster's own scheduler.

It acts with the permissions of the kubeconfig, which must be those of a cluster administrator. It does not need the
controller to run. It can be interrupted and run again; once there is nothing left to do it does nothing.`

const uninstallHelp = `Removes the kinds that the manifests define, and all objects of these kinds.

First it deletes every DeploymentCoordination, and unpauses what they paused; then every SequentialJob, with its Jobs; then
the kinds themselves. Run "undeploy" before it. Without that it works too: a program that still runs finds no objects any
more.

It acts with the permissions of the kubeconfig, which must be those of a cluster administrator. It can be interrupted and
run again; once there is nothing left to do it does nothing.`

func newUndeployCommand() *cobra.Command {
	return newRemovalCommand(&cobra.Command{
		Use:   "undeploy -f FILENAME",
		Short: "Removes both programs from a cluster, and releases what they hold",
		Long:  undeployHelp,
		Example: `  # What was installed with: kubectl apply --server-side -f install.yaml
  podsequence-controller undeploy -f install.yaml

  # What was installed with: kubectl apply --server-side -k overlay
  kubectl kustomize overlay | podsequence-controller undeploy -f -`,
	}, (*removal.Remover).Undeploy)
}

func newUninstallCommand() *cobra.Command {
	return newRemovalCommand(&cobra.Command{
		Use:   "uninstall -f FILENAME",
		Short: "Removes the kinds from a cluster, and all their objects",
		Long:  uninstallHelp,
		Example: `  # After undeploy, with the same file.
  podsequence-controller uninstall -f install.yaml`,
	}, (*removal.Remover).Uninstall)
}

// removalFlags are those of the commands that remove us.
type removalFlags struct {
	files               []string
	kubeconfig, context string
	qps                 float32
	burst               int
	removal.Options
}

func newRemovalCommand(
	command *cobra.Command, remove func(*removal.Remover, context.Context, []*unstructured.Unstructured) error,
) *cobra.Command {
	running := defaultOptions()
	f := removalFlags{qps: running.qps, burst: running.burst, Options: removal.Options{
		SchedulerNames: running.sequences.SchedulerNames, GatePrefixes: running.sequences.GatePrefixes, Timeout: 5 * time.Minute,
	}}
	flags := command.Flags()
	flags.StringSliceVarP(&f.files, "filename", "f", nil, "File that was applied to install PodSequence. \"-\" is standard input.")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "Kubeconfig file. If empty, $KUBECONFIG or ~/.kube/config.")
	flags.StringVar(&f.context, "context", "", "Context of the kubeconfig. If empty, its current one.")
	flags.DurationVar(&f.Timeout, "timeout", f.Timeout, "How long to wait at most for each object that takes time to go.")
	flags.StringSliceVar(&f.SchedulerNames, "scheduler-names", f.SchedulerNames,
		"Names of podsequence-scheduler's profiles. Pods with one of these as spec.schedulerName are listed if they wait.")
	flags.StringSliceVar(&f.GatePrefixes, "gate-prefixes", f.GatePrefixes,
		"Beginnings of our gates. Pods that carry one are listed if they wait.")
	cobra.CheckErr(command.MarkFlagRequired("filename"))

	command.Args = cobra.NoArgs
	// The controller's logs are not for people at a terminal: errors are printed as they are.
	command.PersistentPreRunE = func(*cobra.Command, []string) error {
		ctrl.SetLogger(klog.Background())
		return nil
	}
	command.RunE = func(cmd *cobra.Command, _ []string) error {
		var manifests []*unstructured.Unstructured
		for _, file := range f.files {
			read, err := readManifests(file, cmd.InOrStdin())
			if err != nil {
				return err
			}
			manifests = append(manifests, read...)
		}
		api, err := f.client()
		if err != nil {
			return err
		}
		f.Out = cmd.OutOrStdout()
		return remove(removal.New(api, f.Options), cmd.Context(), manifests)
	}
	return command
}

func readManifests(file string, stdin io.Reader) ([]*unstructured.Unstructured, error) {
	in := stdin
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("read manifests: %w", err)
		}
		defer func() { _ = opened.Close() }()
		in = opened
	}
	manifests, err := removal.ReadObjects(in)
	if err != nil {
		return nil, fmt.Errorf("read manifests from %s: %w", file, err)
	}
	return manifests, nil
}

func (f *removalFlags) client() (client.WithWatch, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: f.context}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("load client configuration: %w", err)
	}
	config.QPS, config.Burst = f.qps, f.burst
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	api, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	return api, nil
}

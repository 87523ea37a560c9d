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

	"example.com/podsequence/tools/removal"
)

const undeployHelp = `Remove both programs, their policies and their permissions. Keep the kinds and their objects.

The command deletes the objects that the manifests list, except the kinds, and releases what the programs hold:

  - It unpauses the Deployments that a DeploymentCoordination paused. Those that their owners paused stay paused.
  - It removes the finalizer of DeploymentCoordinations, which only the controller would remove, and the finalizer that
    the Pod Sequence Controller left on PodSequences, if there is any.
  - It lists the SequentialJobs that have not finished.
  - It lists the pods that stay Pending, with commands that hand them to the cluster's own scheduler.

It uses the permissions of the kubeconfig, which must be those of a cluster administrator. The controller need not
run. If the command is interrupted, run it again. When nothing is left to do, it does nothing.`

const uninstallHelp = `Remove the kinds that the manifests define, and all objects of these kinds.

The command deletes every DeploymentCoordination and unpauses the Deployments that it paused; then every SequentialJob
with its Jobs; then the kinds themselves. Run "undeploy" first. If a program still runs, uninstall works too: the
program finds no more objects.

It uses the permissions of the kubeconfig, which must be those of a cluster administrator. If the command is
interrupted, run it again. When nothing is left to do, it does nothing.`

func newUndeployCommand() *cobra.Command {
	return newRemovalCommand(&cobra.Command{
		Use:   "undeploy -f FILENAME",
		Short: "Remove both programs from a cluster, and release what they hold",
		Long:  undeployHelp,
		Example: `  # After an installation with: kubectl apply --server-side -f install.yaml
  podsequence-controller undeploy -f install.yaml

  # After an installation with: kubectl apply --server-side -k overlay
  kubectl kustomize overlay | podsequence-controller undeploy -f -`,
	}, (*removal.Remover).Undeploy)
}

func newUninstallCommand() *cobra.Command {
	return newRemovalCommand(&cobra.Command{
		Use:   "uninstall -f FILENAME",
		Short: "Remove the kinds from a cluster, and all their objects",
		Long:  uninstallHelp,
		Example: `  # After undeploy, with the same file.
  podsequence-controller uninstall -f install.yaml`,
	}, (*removal.Remover).Uninstall)
}

// The flags that say what is ours. The commands that remove us read those of the installation.
const (
	schedulerNamesFlag = "scheduler-names"
	gatePrefixesFlag   = "gate-prefixes"
)

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
	flags.StringSliceVarP(&f.files, "filename", "f", nil, "Manifest `file` with which PodSequence was installed. \"-\" reads standard input. May be repeated.")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "Kubeconfig `file` for access to the cluster. If empty, $KUBECONFIG or ~/.kube/config.")
	flags.StringVar(&f.context, "context", "", "Context of the kubeconfig to use. If empty, its current context.")
	flags.DurationVar(&f.Timeout, "timeout", f.Timeout, "Longest time to wait for one object to be deleted, such as 5m.")
	const asInstalled = " If not given, those of podsequence-controller in the manifests."
	flags.StringSliceVar(&f.SchedulerNames, schedulerNamesFlag, f.SchedulerNames,
		"Names of the profiles of podsequence-scheduler. Waiting pods with one of these as spec.schedulerName are listed."+asInstalled)
	flags.StringSliceVar(&f.GatePrefixes, gatePrefixesFlag, f.GatePrefixes,
		"Prefixes of the gates of PodSequences, each a DNS name and '/'. Waiting pods that carry such a gate are listed."+asInstalled)
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
		for name, values := range map[string]*[]string{schedulerNamesFlag: &f.SchedulerNames, gatePrefixesFlag: &f.GatePrefixes} {
			if !flags.Changed(name) {
				*values = removal.ControllerFlag(manifests, "--"+name, *values)
			}
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

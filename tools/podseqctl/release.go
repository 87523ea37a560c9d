package podseqctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/tools/holds"
	"example.com/podsequence/tools/podseqctl/release"
	"example.com/podsequence/tools/podseqctl/snapshot"
	"example.com/podsequence/tools/podseqctl/text"
)

// noticePatience is how long a release waits for kube-controller-manager.
const noticePatience = 30 * time.Second

// releaseCommand hands workloads to the cluster's own scheduler.
type releaseCommand struct{ *tool }

func (t releaseCommand) command() *cobra.Command {
	var reason, dryRun string
	command := &cobra.Command{
		Use:   "release KIND/NAME --reason WHY",
		Short: "Hand a workload to the cluster's own scheduler, even while PodSequence is down",
		Long: `Hand one workload to the cluster's own scheduler, permanently. It works even while PodSequence is down.

The command removes the label podsequence.example.com/sequence, the gates of PodSequence and its schedulerName from the
pod template, by one patch. Then it releases the pods that have no node. It removes the gates of pods of other schedulers.
The scheduler of a pod cannot be changed: the command deletes such a pod, if its owner creates it again. It never touches
a pod that has a node. But a workload that rolls out the changed template replaces its running pods as well.

KIND is ` + strings.Join(release.Kinds(), ", ") + `.

The command writes an event on the workload that says who released it and why. You need the role edit in the namespace.`,
		Example: `  # What would happen?
  kubectl podseq release deployment/web --dry-run=server

  # Release it, template and pods.
  kubectl podseq release statefulset/db --reason "PodSequence is down, see the incident"`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: t.completeWorkloads,
		RunE: func(cmd *cobra.Command, args []string) error {
			o := release.Options{Reason: strings.TrimSpace(reason), DryRun: release.DryRun(dryRun), Now: t.clock.Now(), Patience: noticePatience}
			return t.release(cmd.Context(), args[0], o)
		},
	}
	command.Flags().StringVar(&reason, "reason", "", "`text` that says why you do this; it goes into the event on the workload")
	command.Flags().StringVar(&dryRun, "dry-run", "none",
		"none; client: only say what would be done; or server: the API server checks the changes but does not store them")
	dryRuns := []string{"none", "server", "client"}
	_ = command.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions(dryRuns, cobra.ShellCompDirectiveNoFileComp))
	return command
}

func (t releaseCommand) release(ctx context.Context, argument string, o release.Options) error {
	w, err := t.workload(argument)
	if err != nil {
		return err
	}
	if o.DryRun != release.DryRunNone && o.DryRun != release.DryRunServer && o.DryRun != release.DryRunClient {
		return fmt.Errorf("--dry-run=%s is not known: give none, server or client", o.DryRun)
	}
	if o.Reason == "" && o.DryRun == release.DryRunNone {
		return errors.New(`--reason is required; it is recorded in an event on the workload: --reason "..."`)
	}
	c, err := t.writer()
	if err != nil {
		return err
	}
	finder := holds.Finder{SchedulerNames: t.config.SchedulerNames, GatePrefixes: t.config.GatePrefixes}
	result, err := release.New(c, finder).Release(ctx, w, o)
	t.printRelease(w, result, o)
	if err != nil {
		return err
	}
	if len(result.Done)+len(result.StayHeld)+len(result.Notes) == 0 {
		fmt.Fprintf(t.Out, "%s: there is nothing to release. Neither the pod template nor a pod without a node has schedulerName %s, "+
			"or a gate of PodSequence.\n", w, strings.Join(t.config.SchedulerNames, " or "))
	}
	if len(result.StayHeld) > 0 {
		return fmt.Errorf("%s is not released completely: see above", w)
	}
	return nil
}

// workload returns the workload that an argument names.
func (t releaseCommand) workload(argument string) (holds.Workload, error) {
	kind, name := splitArgument(argument)
	kind = strings.ToLower(kind)
	namespace, err := t.namespace()
	if err != nil {
		return holds.Workload{}, err
	}
	if kind == "cj" || kind == "cronjobs" {
		kind = "cronjob"
	}
	if !slices.Contains(release.Kinds(), kind) || name == "" {
		known := strings.Join(release.Kinds(), ", ")
		return holds.Workload{}, fmt.Errorf("%s cannot be released: give KIND/NAME, where KIND is %s", argument, known)
	}
	return holds.Workload{Kind: kind, Namespace: namespace, Name: name}, nil
}

// writer makes the client that changes workloads and pods.
func (t releaseCommand) writer() (client.Client, error) {
	config, err := t.flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NewWarningWriter(t.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	c, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return c, nil
}

func (t releaseCommand) printRelease(w holds.Workload, result *release.Result, o release.Options) {
	suffix := map[release.DryRun]string{release.DryRunServer: " (server dry run)", release.DryRunClient: " (dry run)"}[o.DryRun]
	table := text.NewTable("DONE", "OBJECT", "DETAIL")
	for _, done := range result.Done {
		table.Row(done.Action, done.Object, done.Detail+suffix)
	}
	if len(result.Done) > 0 {
		table.Print(t.Out, t.style)
	}
	t.printParagraphs("Still held:", result.StayHeld)
	t.printParagraphs("Note:", result.Notes)
	if result.NoEvent != nil {
		fmt.Fprintln(t.ErrOut, t.style.Paint(text.Active,
			fmt.Sprintf("warning: %s is released, but the event that says who released it was not written: %v", w, result.NoEvent)))
	}
}

func (t releaseCommand) printParagraphs(heading string, paragraphs []string) {
	if len(paragraphs) == 0 {
		return
	}
	fmt.Fprintf(t.Out, "\n%s\n", heading)
	for _, paragraph := range paragraphs {
		fmt.Fprintln(t.Out, "- "+strings.ReplaceAll(paragraph, "\n", "\n  "))
	}
}

// completeWorkloads completes the workloads of the namespace that no other object owns.
func (t releaseCommand) completeWorkloads(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return t.completion().from(cmd, args, func(world *snapshot.Snapshot, namespace string) (names []string) {
		for kind, objects := range world.Workloads {
			for _, object := range objects {
				if object.GetNamespace() == namespace && metav1.GetControllerOfNoCopy(object) == nil {
					names = append(names, strings.ToLower(string(kind))+"/"+object.GetName())
				}
			}
		}
		return names
	})
}

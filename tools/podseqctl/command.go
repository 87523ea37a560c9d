// Package podseqctl is the command kubectl podseq: it says how far sequences are and why pods wait, checks sequences, and makes the
// few writes that an operator needs in a hurry. It needs no more permissions than what it shows: it says what it may not read, and
// continues.
package podseqctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/internal/installation"
	"example.com/podsequence/internal/version"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/tools/podseqctl/snapshot"
	"example.com/podsequence/tools/podseqctl/text"
)

const long = `kubectl podseq shows the progress of PodSequences and ClusterPodSequences, and why pods wait.

If pods do not start, begin with "kubectl podseq check". Go on with "kubectl podseq get", and with "kubectl podseq why POD" for a pod that is Pending.

You need the role view in the namespace. If you may not read more, such as nodes or ClusterPodSequences, a line
says so, and the answer is given without it.

NAME stands for the name of a PodSequence in the namespace, podsequence/NAME, or clusterpodsequence/NAME.`

// Options replace what the commands use; the zero value reads from the cluster of the kubeconfig.
type Options struct {
	Source Source
	Clock  clock.PassiveClock

	style *text.Style
}

// tool holds what all commands share.
type tool struct {
	genericiooptions.IOStreams
	flags  *genericclioptions.ConfigFlags
	clock  clock.PassiveClock
	source Source
	config sequence.Config
	style  text.Style
}

// NewCommand returns the command with all its subcommands.
func NewCommand(streams genericiooptions.IOStreams, options Options) *cobra.Command {
	t := &tool{
		IOStreams: genericiooptions.IOStreams{In: streams.In, Out: text.NewWriter(streams.Out), ErrOut: text.NewWriter(streams.ErrOut)},
		flags:     genericclioptions.NewConfigFlags(true), clock: options.Clock, source: options.Source,
		config: sequence.Config{
			SchedulerNames: []string{"podsequence-scheduler"}, GatePrefixes: []string{"podsequence.example.com/"},
			InstallationNamespace: installation.DefaultNamespace,
			UnprobedReady:         sequence.DefaultUnprobedReadySeconds * time.Second,
		},
		style: text.StyleFor(streams.Out),
	}
	if options.style != nil {
		t.style = *options.style
	}
	if t.clock == nil {
		t.clock = clock.RealClock{}
	}
	t.flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config = rest.CopyConfig(config)
		config.QPS, config.Burst = -1, -1 // a few lists; the API server has limits of its own
		return rest.AddUserAgent(config, "kubectl-podseq")
	}
	command := &cobra.Command{
		Use:           "podseq",
		Short:         "Show the progress of PodSequences, and why pods wait",
		Long:          long,
		Version:       version.String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl podseq"},
	}
	command.SetVersionTemplate("{{.Version}}\n")
	command.SetOut(streams.Out)
	command.SetErr(streams.ErrOut)
	command.SetIn(streams.In)
	flags := command.PersistentFlags()
	t.flags.AddFlags(flags)
	flags.StringSliceVar(&t.config.SchedulerNames, "scheduler-names", t.config.SchedulerNames, "`names` of the profiles of podsequence-scheduler; must be the same as the flag of podsequence-controller")
	flags.StringSliceVar(&t.config.GatePrefixes, "gate-prefixes", t.config.GatePrefixes, "`prefixes` of the gates that may be lifted; must be the same as the flag of podsequence-controller")
	flags.StringVar(&t.config.InstallationNamespace, "installation-namespace", t.config.InstallationNamespace,
		"`namespace` where PodSequence itself runs")
	flags.Var((*secondsValue)(&t.config.UnprobedReady), "unprobed-ready-seconds",
		"how many `seconds` a pod without a readiness probe must be Ready before it counts; must be the same as the flag of podsequence-controller")
	command.AddCommand(checkCommand{t}.command(), getCommand{t}.command(), whyCommand{t}.command(), treeCommand{t}.command(), timelineCommand{t}.command(),
		lintCommand{t}.command(), importCommand{t}.command())
	change := changeCommand{t}
	command.AddCommand(change.suspend(), change.resume(), change.skip(), change.unskip(), releaseCommand{t}.command(), versionCommand{t}.command())
	return command
}

// PrintError prints the error of a command. It may contain what objects say.
func PrintError(out io.Writer, err error) { fmt.Fprintln(text.NewWriter(out), "error:", err) }

// completion completes arguments.
func (t *tool) completion() completion { return completion{t} }

// connect makes the source, unless there is one.
func (t *tool) connect() (Source, error) {
	if t.source != nil {
		return t.source, nil
	}
	config, err := t.flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	t.source = &apiSource{Reader: snapshot.NewReader(core, dynamicClient), core: core, dynamic: dynamicClient}
	return t.source, nil
}

// namespace returns the namespace that the user means.
func (t *tool) namespace() (string, error) {
	namespace, _, err := t.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("read the namespace of the kubeconfig: %w", err)
	}
	return namespace, nil
}

// find reads the sequence that an argument names.
func (t *tool) find(ctx context.Context, argument string) (*snapshot.Sequence, error) {
	source, err := t.connect()
	if err != nil {
		return nil, err
	}
	namespace, err := t.namespace()
	if err != nil {
		return nil, err
	}
	kind, name := splitArgument(argument)
	switch kind {
	case "", kindPodSequence:
		found, err := source.Get(ctx, namespace, name)
		what := fmt.Sprintf("PodSequence %s/%s", namespace, name)
		missing := notFound(err, what, "podsequences", namespace)
		if !apierrors.IsNotFound(err) {
			return found, missing
		}
		if kind == "" {
			cluster, err := source.Get(ctx, "", name)
			if err == nil {
				return cluster, nil
			}
			if apierrors.IsForbidden(err) {
				missing = fmt.Errorf("%w, and you may not read ClusterPodSequences; %s", missing, snapshot.AskFor(snapshot.ClusterViewRole, ""))
			}
		}
		return nil, t.suggest(ctx, missing, what, argument, namespace)
	case kindClusterPodSequence:
		found, err := source.Get(ctx, "", name)
		what := "ClusterPodSequence " + name
		if apierrors.IsNotFound(err) {
			return nil, t.suggest(ctx, notFound(err, what, "clusterpodsequences", ""), what, argument, namespace)
		}
		return found, notFound(err, what, "clusterpodsequences", "")
	}
	return nil, fmt.Errorf("%s is not a sequence: give the name of a PodSequence, or clusterpodsequence/NAME", argument)
}

// suggest returns an error that names the sequence most likely meant, or otherwise the error that says that there is none.
func (t *tool) suggest(ctx context.Context, otherwise error, what, argument, namespace string) error {
	sequences, _, err := t.source.List(ctx, namespace)
	if err != nil {
		return otherwise
	}
	arguments := map[string]string{}
	var names []string
	for _, s := range sequences {
		for _, name := range []string{s.Key().Name, s.Argument()} {
			names, arguments[name] = append(names, name), s.Argument()
		}
	}
	if meant, ok := text.Closest(argument, names); ok {
		return fmt.Errorf("%s does not exist: did you mean %s?", what, arguments[meant])
	}
	return otherwise
}

// notFound says what to do about an error of a read.
func notFound(err error, what, resource, namespace string) error {
	scope := ""
	if namespace != "" {
		scope = " -n " + namespace
	}
	_, notInstalled := errors.AsType[*snapshot.NotInstalledError](err)
	switch {
	case err == nil || notInstalled:
		return err
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s does not exist: kubectl get %s%s lists those that do", what, resource, scope)
	case apierrors.IsForbidden(err) && namespace == "":
		return fmt.Errorf("%w; %s", err, snapshot.AskFor(snapshot.ClusterViewRole, ""))
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; %s", err, snapshot.AskFor("view", namespace))
	}
	return fmt.Errorf("read %s: %w", what, err)
}

// snapshot reads what has to do with a namespace, and says what may not be read.
func (t *tool) snapshot(ctx context.Context, namespace string) (*snapshot.Snapshot, error) {
	source, err := t.connect()
	if err != nil {
		return nil, err
	}
	objects, err := source.Gather(ctx, namespace, false)
	if err != nil {
		return nil, err
	}
	return snapshot.New(objects, t.config, t.clock.Now()), nil
}

// tellUnread says what may not be read. It goes where errors go, so that the output stays what was asked for.
func (t *tool) tellUnread(lines []string) {
	for _, line := range lines {
		fmt.Fprintln(t.ErrOut, t.style.Paint(text.Faint, "note: "+text.OneLine(line)))
	}
}

// print prints a value as JSON or YAML.
func (t *tool) print(format string, value any) error {
	encoded, err := yaml.Marshal(value)
	if err == nil && format == "json" {
		encoded, err = marshalJSON(value)
	}
	if err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	return t.writeEncoded(format, encoded)
}

// writeEncoded prints JSON or YAML.
func (t *tool) writeEncoded(format string, encoded []byte) error {
	encoded, err := text.Encoded(format, encoded)
	if err != nil {
		return err
	}
	_, err = t.Out.Write(encoded)
	return err
}

// Canonical kinds, as the user may name them before the slash.
const (
	kindPodSequence        = "podsequence"
	kindClusterPodSequence = "clusterpodsequence"
)

// kinds maps the names that kubectl accepts to the kinds.
var kinds = kindsByName()

func kindsByName() map[string]string {
	names := map[string]string{
		"po": "pod", "pods": "pod", "pod": "pod",
		"podseq": kindPodSequence, "podsequence": kindPodSequence, "podsequences": kindPodSequence,
		"cpodseq": kindClusterPodSequence, "clusterpodsequence": kindClusterPodSequence, "clusterpodsequences": kindClusterPodSequence,
	}
	for _, row := range inventory.WorkloadKinds {
		kind := string(row.Kind)
		names[strings.ToLower(kind)], names[row.Resource.Resource] = kind, kind
	}
	for short, kind := range map[string]inventory.Kind{
		"deploy": inventory.KindDeployment, "rs": inventory.KindReplicaSet, "sts": inventory.KindStatefulSet, "ds": inventory.KindDaemonSet,
		"rc": inventory.KindReplicationController,
	} {
		names[short] = string(kind)
	}
	return names
}

// splitArgument splits KIND/NAME. The kind is empty if there is none, and as the user wrote it if it is not known.
func splitArgument(argument string) (kind, name string) {
	kind, name, found := strings.Cut(argument, "/")
	if !found {
		return "", argument
	}
	kind, _, _ = strings.Cut(strings.ToLower(kind), ".") // podsequences.scheduling.example.com
	if known := kinds[kind]; known != "" {
		return known, name
	}
	return kind, name
}

// secondsValue is a flag that takes whole seconds, as those of the controller do.
type secondsValue time.Duration

// Set reads the value.
func (v *secondsValue) Set(value string) error {
	seconds, err := strconv.ParseUint(value, 10, 16)
	if err != nil || seconds > sequence.MaxUnprobedReadySeconds {
		return fmt.Errorf("must be a number from 0 to %d", sequence.MaxUnprobedReadySeconds)
	}
	*v = secondsValue(seconds) * secondsValue(time.Second)
	return nil
}

// String returns the value.
func (v *secondsValue) String() string { return strconv.Itoa(int(time.Duration(*v) / time.Second)) }

// Type names what the flag takes.
func (v *secondsValue) Type() string { return "int32" }

// snapshotOf reads what has to do with the pods of a sequence. The sequence is in it.
func (t *tool) snapshotOf(ctx context.Context, s *snapshot.Sequence, namespace string) (*snapshot.Snapshot, error) {
	source, err := t.connect()
	if err != nil {
		return nil, err
	}
	if !s.IsCluster() {
		namespace = s.Key().Namespace
	}
	objects, err := source.Gather(ctx, namespace, s.IsCluster())
	if err != nil {
		return nil, err
	}
	world := snapshot.New(objects, t.config, t.clock.Now())
	if world.Sequence(s.Key()) == nil {
		return nil, fmt.Errorf("%s was deleted meanwhile", s)
	}
	return world, nil
}

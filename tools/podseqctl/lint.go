package podseqctl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	batchv1alpha1 "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/podgroups"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/tools/podseqctl/lint"
	"example.com/podsequence/tools/podseqctl/snapshot"
	"example.com/podsequence/tools/podseqctl/text"
)

// lintOptions are the flags of lint.
type lintOptions struct {
	files  resource.FilenameOptions
	output string
	strict bool
	// verbose lists notes as well.
	verbose bool
}

// lintCommand checks sequences and what makes their pods.
type lintCommand struct{ *tool }

func (t lintCommand) command() *cobra.Command {
	o := &lintOptions{}
	command := &cobra.Command{
		Use:   "lint (-f FILE|DIR | -k DIR | [NAME])",
		Short: "Check sequences, in files before they are applied, or in the cluster",
		Long: `Check sequences.

With -f or -k it checks files and needs no cluster. It applies the rules of the CRDs as the API server does, and compares
the sequences with the workloads in the same files. It finds pods that may start before their sequence exists, pods that
nothing can hold, selectors that match nothing, groups that overlap, order that is impossible or useless, a
progressDeadlineSeconds that is too short for the wait, and StatefulSets with members in several groups.

Without -f and -k it checks the cluster in the same way: one sequence, or all of the namespace.

Notes are counted; with --verbose they are listed, and with -o json or yaml always.

The exit code is 1 if there are errors; with --strict also if there are warnings.`,
		Example: `  # Before they are applied; sequences and workloads together.
  kubectl podseq lint -f manifests/ -R

  # The output of Helm or kustomize.
  helm template shop ./chart | kubectl podseq lint -f -
  kubectl podseq lint -k overlays/production

  # One sequence of the cluster, or all of the namespace.
  kubectl podseq lint backend
  kubectl podseq lint`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: t.completion().sequences,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(o.output, "json", "yaml"); err != nil {
				return err
			}
			offline := len(o.files.Filenames) > 0 || o.files.Kustomize != ""
			if offline && len(args) > 0 {
				return errors.New("give either -f or a name: -f checks files, a name what is in the cluster")
			}
			var found linted
			var err error
			if offline {
				found, err = t.lintFiles(cmd.Context(), o.files)
			} else {
				found, err = clusterLinter(t).check(cmd.Context(), args)
			}
			if err != nil && !offline && len(args) > 0 && isFile(args[0]) {
				err = fmt.Errorf("%w; to check the file %s, use -f %[2]s", err, args[0])
			}
			if err != nil {
				return err
			}
			return t.printFindings(found, o)
		},
	}
	flags := command.Flags()
	flags.StringSliceVarP(&o.files.Filenames, "filename", "f", nil, "`files`, directories or URLs to check; - reads standard input")
	flags.BoolVarP(&o.files.Recursive, "recursive", "R", false, "also check the files in subdirectories")
	flags.StringVarP(&o.files.Kustomize, "kustomize", "k", "", "`directory` of a kustomization to build and check")
	flags.StringVarP(&o.output, "output", "o", "", "output `format`: json or yaml")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "also list the notes: what is good to know and nothing to correct")
	flags.BoolVar(&o.strict, "strict", false, "also exit with code 1 if there are warnings")
	return command
}

// isFile reports whether a name is rather that of a file than of a sequence.
func isFile(name string) bool {
	_, err := os.Stat(name)
	return err == nil || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") || strings.HasSuffix(name, ".json")
}

// linted is what lint found, and where it looked.
type linted struct {
	findings lint.Findings
	// checked says what was looked at, and incomplete what was missing for that; it is empty if nothing was.
	checked, incomplete string
}

// lintFiles checks what files contain.
func (t lintCommand) lintFiles(ctx context.Context, files resource.FilenameOptions) (linted, error) {
	definitions, err := lint.NewDefinitions()
	if err != nil {
		return linted{}, err
	}
	namespace, err := t.namespaceOfFiles()
	if err != nil {
		return linted{}, err
	}
	infos, err := resource.NewBuilder(t.flags).Unstructured().Local().ContinueOnError().
		FilenameParam(false, &files).Flatten().Do().Infos()
	if err != nil {
		return linted{}, fmt.Errorf("read files: %w", err)
	}
	var findings lint.Findings
	objects := &snapshot.Objects{Workloads: map[inventory.Kind][]metav1.Object{}, Complete: map[string]bool{}, NodesRead: true}
	sources, kinds := map[string]string{}, map[string]int{}
	for _, info := range infos {
		object := info.Object.(*unstructured.Unstructured)
		ours := definitions.Has(object.GroupVersionKind())
		if object.GetNamespace() == "" && object.GetKind() != v1alpha1.ClusterPodSequenceKind.Kind {
			object.SetNamespace(namespace)
		}
		if ours {
			var found lint.Findings
			found, object = definitions.CheckAll(ctx, info.Source, object)
			findings = append(findings, found...)
			if len(found) == 0 && object.GroupVersionKind() == batchv1alpha1.SequentialJobKind {
				findings = append(findings, lint.SequentialJob(info.Source, object)...)
			}
			kinds[object.GetKind()]++
			if first, twice := sources[lint.Name(object)]; twice {
				findings = append(findings, lint.Duplicate(info.Source, first, object))
				continue
			}
		}
		sources[lint.Name(object)] = info.Source
		enter(objects, object)
	}
	if len(infos) == 0 {
		return linted{}, errors.New("the files have no objects")
	}
	t.prepareOffline(objects)
	world := snapshot.New(objects, t.config, t.clock.Now())
	found := linted{
		findings: append(findings, lint.World(world, lint.Options{Sources: sources, Offline: true})...),
		checked:  "checked " + lint.Contents(world, kinds) + " in files, not in a cluster",
	}
	switch workloads, pods := lint.CountWorkloads(world); {
	case len(kinds) == 0:
		found.incomplete = "there is no sequence to check; give lint the sequences together with the workloads"
	case len(objects.Sequences) > 0 && workloads+pods == 0:
		found.incomplete = "give lint the workloads together with the sequences, and it checks what the groups select and name"
	}
	return found, nil
}

// namespaceOfFiles returns the namespace of objects that name none: that of the flag, or else default, so that no kubeconfig is
// needed.
func (t lintCommand) namespaceOfFiles() (string, error) {
	if t.flags.Namespace != nil && *t.flags.Namespace != "" {
		return *t.flags.Namespace, nil
	}
	return metav1.NamespaceDefault, nil
}

// enter enters an object of a file into the objects, if it is of a kind that matters.
func enter(objects *snapshot.Objects, object *unstructured.Unstructured) {
	object.SetUID(types.UID(lint.Name(object)))
	object.SetResourceVersion("1")
	if object.GroupVersionKind().Group == v1alpha1.GroupVersion.Group {
		if s, err := snapshot.NewSequence(object); err == nil {
			objects.Sequences = append(objects.Sequences, s)
		}
		return
	}
	if object.GetKind() == "PodGroup" {
		for _, kind := range []podgroups.Kind{podgroups.Coscheduling, podgroups.Native} {
			if strings.HasSuffix(string(kind), "."+object.GroupVersionKind().Group) {
				objects.PodGroups = append(objects.PodGroups, snapshot.NewPodGroup(kind, object))
			}
		}
		return
	}
	typed, err := clientgoscheme.Scheme.New(object.GroupVersionKind())
	if err != nil || clientgoscheme.Scheme.Convert(object, typed, nil) != nil {
		return // of no interest, or the API server will say what is wrong
	}
	switch o := typed.(type) {
	case *corev1.Pod:
		objects.Pods = append(objects.Pods, o)
	case *schedulingv1.PriorityClass:
		objects.PriorityClasses = append(objects.PriorityClasses, o)
	case *corev1.Namespace:
		objects.Namespaces = append(objects.Namespaces, o)
	case *corev1.ResourceQuota:
		objects.Quotas = append(objects.Quotas, o)
	case metav1.Object:
		for _, kind := range inventory.WorkloadKinds {
			if kind.Resource.GroupVersion().WithKind(string(kind.Kind)) == object.GroupVersionKind() {
				objects.Workloads[kind.Kind] = append(objects.Workloads[kind.Kind], o)
			}
		}
	}
}

// prepareOffline takes for granted what files do not say: that namespaces exist, and allow the sequences that point to them, and that
// pods have the scheduler that they will be given.
func (t lintCommand) prepareOffline(objects *snapshot.Objects) {
	objects.NamespacesRead = true
	known, labelsOf := map[string]bool{}, map[string]map[string]string{}
	for _, namespace := range objects.Namespaces {
		known[namespace.Name], labelsOf[namespace.Name] = true, namespace.Labels
	}
	for _, pod := range objects.Pods {
		pod.Spec.SchedulerName = cmp.Or(pod.Spec.SchedulerName, corev1.DefaultSchedulerName)
		lint.Route(pod, labelsOf[pod.Namespace], &t.config)
	}
	for _, name := range objects.NamespacesNamed() {
		objects.Complete[name] = true
		if !known[name] {
			objects.Namespaces = append(objects.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
				Name: name, ResourceVersion: "1", Annotations: map[string]string{v1alpha1.AllowSequencesFromAnnotation: "*"},
			}})
		}
	}
}

func (t lintCommand) printFindings(found linted, o *lintOptions) error {
	findings := found.findings.Sort()
	said := found.checked
	if found.incomplete != "" {
		said += ": " + found.incomplete
	}
	if isEncoded(o.output) {
		if found.incomplete != "" {
			t.tellUnread([]string{said})
		}
		if findings == nil {
			findings = lint.Findings{}
		}
		if err := t.print(o.output, findings); err != nil {
			return err
		}
	} else {
		object, source := "", ""
		for _, f := range findings {
			if f.Severity == lint.Note && !o.verbose {
				continue
			}
			if f.Object != object || f.Source != source {
				object, source = f.Object, f.Source
				line := t.style.Paint(text.Heading, text.OneLine(object))
				if source != "" {
					line += t.style.Paint(text.Faint, "   "+text.OneLine(source))
				}
				fmt.Fprintln(t.Out, line)
			}
			fmt.Fprintf(t.Out, "  %s %s: %s\n", t.style.Paint(severityColour(f.Severity), fmt.Sprintf("%-7s", f.Severity)), f.Rule, text.OneLine(f.Message))
		}
	}
	wrong, warnings := findings.Count(lint.Error), findings.Count(lint.Warning)
	if !isEncoded(o.output) {
		fmt.Fprintln(t.Out, t.style.Paint(text.Faint, said))
		summary := findings.Summary()
		if findings.Count(lint.Note) > 0 && !o.verbose {
			summary += "; -v lists the notes"
		}
		fmt.Fprintln(t.Out, summary)
	}
	if wrong > 0 || (o.strict && warnings > 0) {
		return ErrFindings
	}
	return nil
}

// ErrFindings is returned after lint has printed what is wrong.
var ErrFindings = errors.New("there are errors to correct, see above")

func severityColour(severity lint.Severity) text.Colour {
	switch severity {
	case lint.Error:
		return text.Bad
	case lint.Warning:
		return text.Active
	}
	return text.Faint
}

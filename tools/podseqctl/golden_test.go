package podseqctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/podgroups"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/test/harness/passes"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// now is the time of all golden tests.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestGolden runs the commands of testdata/golden against the objects there. "objects" replaces all objects, and records all passes unless
// it has the argument unrecorded; its other arguments name what may not be read, or is not installed. "run" runs a command, of which both
// outputs and the error are compared. columns= of "run" is the width of the terminal.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		source := &fakeSource{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "objects":
				source = parse(t, d.Input)
				if !d.HasArg("unrecorded") {
					source.record(t)
				}
				for _, arg := range d.CmdArgs {
					source.forbid(arg.String())
				}
				return "ok\n"
			case "run":
				source.writes = nil
				columns := ""
				d.MaybeScanArgs(t, "columns", &columns)
				t.Setenv("COLUMNS", columns)
				output := run(source, arguments(d.Input))
				return output + strings.Join(append(source.writes, ""), "\n")
			}
			d.Fatalf(t, "unknown directive")
			return ""
		})
	})
}

// arguments splits a command line; double quotes keep words together.
func arguments(line string) []string {
	var args []string
	for i, part := range strings.Split(strings.TrimSpace(line), `"`) {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	return args
}

// run runs a command and returns all that it prints.
func run(source Source, args []string) string { return runAt(source, now, args) }

func runAt(source Source, now time.Time, args []string) string {
	var out bytes.Buffer
	command := NewCommand(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out},
		Options{Source: source, Clock: clocktesting.NewFakePassiveClock(now)})
	// The pods of most files have no readiness probes, and few files are about that.
	command.SetArgs(append([]string{"-n", "shop", "--unprobed-ready-seconds=0"}, listingNotes(args)...))
	if err := command.ExecuteContext(context.Background()); err != nil {
		PrintError(&out, err)
	}
	return out.String()
}

// listingNotes makes lint list its notes, unless the arguments say whether to.
func listingNotes(args []string) []string {
	if len(args) == 0 || args[0] != "lint" || slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--verbose") }) {
		return args
	}
	return append(slices.Clone(args), "--verbose")
}

// fakeSource serves the objects of a test.
type fakeSource struct {
	snapshot.Objects
	noClusterSequences bool
	notInstalled       bool
	writes             []string // since the last command
	forbidden          bool     // for writes
	conflicts          int      // answers to the next writes
}

func (s *fakeSource) Patch(_ context.Context, of *snapshot.Sequence, patch []byte, dryRun bool) error {
	if s.forbidden {
		return apierrors.NewForbidden(v1alpha1.PodSequenceResource.GroupResource(), of.Key().Name, errors.New("no right to patch"))
	}
	if s.conflicts > 0 {
		s.conflicts--
		return apierrors.NewConflict(v1alpha1.PodSequenceResource.GroupResource(), of.Key().Name, errors.New("changed meanwhile"))
	}
	s.writes = append(s.writes, fmt.Sprintf("patch %s dryRun=%t %s", of, dryRun, patch))
	return nil
}

func (s *fakeSource) Emit(_ context.Context, event *eventsv1.Event, dryRun bool) error {
	s.writes = append(s.writes, fmt.Sprintf("event in %s dryRun=%t %s: %s", event.Namespace, dryRun, event.Reason, event.Note))
	return nil
}

func (s *fakeSource) Whoami(context.Context) (string, error) { return "jane", nil }

func (s *fakeSource) forbid(what string) {
	switch what {
	case "no-writes":
		s.forbidden = true
	case "two-conflicts":
		s.conflicts = 2
	case "not-installed":
		s.notInstalled, s.NotInstalled = true, []string{(&snapshot.NotInstalledError{Resource: v1alpha1.PodSequenceResource}).Error()}
	case "no-pods":
		s.Pods, s.Complete = nil, map[string]bool{}
		s.Denied = map[[2]string]error{{"shop", "pods"}: apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("jane cannot list pods in namespace shop"))}
		s.Unread = append(s.Unread, "you may not read pods of namespace shop")
	case "no-nodes":
		s.NodesRead = false
		s.Unread = append(s.Unread, "you may not read nodes: of sequences with scope Node only the status is shown")
	case "no-cluster-sequences":
		s.Sequences = slices.DeleteFunc(s.Sequences, (*snapshot.Sequence).IsCluster)
		s.Unread = append(s.Unread, "ClusterPodSequences may not be read: what they hold is known only from the conditions of the pods")
		s.noClusterSequences = true
	}
}

func (s *fakeSource) Gather(context.Context, string, bool) (*snapshot.Objects, error) {
	objects := s.Objects
	objects.Sequences = slices.Clone(s.Sequences)
	return &objects, nil
}

func (s *fakeSource) List(_ context.Context, namespace string) ([]*snapshot.Sequence, []string, error) {
	var found []*snapshot.Sequence
	if s.notInstalled {
		return nil, nil, &snapshot.NotInstalledError{Resource: v1alpha1.PodSequenceResource}
	}
	for _, each := range s.Sequences {
		if namespace == "" || each.IsCluster() || each.Key().Namespace == namespace {
			found = append(found, each)
		}
	}
	if s.noClusterSequences {
		return found, []string{"you may not read ClusterPodSequences"}, nil
	}
	return found, nil, nil
}

func (s *fakeSource) Get(_ context.Context, namespace, name string) (*snapshot.Sequence, error) {
	for _, each := range s.Sequences {
		if each.Key().Namespace == namespace && each.Key().Name == name {
			return each, nil
		}
	}
	if s.notInstalled {
		return nil, &snapshot.NotInstalledError{Resource: v1alpha1.PodSequenceResource}
	}
	resource := v1alpha1.PodSequenceResource.GroupResource()
	if namespace == "" {
		resource = v1alpha1.ClusterPodSequenceResource.GroupResource()
	}
	return nil, apierrors.NewNotFound(resource, name)
}

func (s *fakeSource) Changed(context.Context, string) (<-chan struct{}, error) {
	return make(chan struct{}), nil
}

// parse reads the objects of a test. Each gets a UID that follows from its kind and name, and owners get that of the object that
// they name.
func parse(t *testing.T, input string) *fakeSource {
	t.Helper()
	s := &fakeSource{Objects: snapshot.Objects{
		Workloads: map[inventory.Kind][]metav1.Object{}, Complete: map[string]bool{"shop": true, "data": true}, NodesRead: true, NamespacesRead: true,
	}}
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(input), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return s
		} else {
			require.NoError(t, err)
		}
		if len(object.Object) == 0 {
			continue
		}
		s.add(t, object)
	}
}

// record adds to the status of sequences the passes that the programs have recorded by now.
func (s *fakeSource) record(t *testing.T) {
	t.Helper()
	engine := sequence.NewEngine(sequence.Config{
		SchedulerNames: []string{"podsequence-scheduler"}, GatePrefixes: []string{"podsequence.example.com/"},
	})
	engine.Tick(now)
	engine.ReplaceNamespaces(s.Namespaces, "1")
	for _, node := range s.Nodes {
		engine.ApplyNode(node)
	}
	for kind, objects := range s.Workloads {
		engine.ReplaceWorkloads(kind, objects, "1")
	}
	engine.ReplacePods(s.Pods, "1")
	for i, each := range s.Sequences {
		stored := order.Read(each.Object.Object)
		if each.IsCluster() {
			stored = order.ReadCluster(each.Object.Object)
		}
		passes.RecordAll(engine, engine.ApplySequences([]order.Stored{stored}))
		report, _ := engine.Report(each.Key())
		if len(report.Object.Status.Passes) == 0 {
			continue
		}
		status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&v1alpha1.PodSequenceStatus{Passes: report.Object.Status.Passes})
		require.NoError(t, err)
		require.NoError(t, unstructured.SetNestedField(each.Object.Object, status["passes"], "status", "passes"))
		s.Sequences[i], err = snapshot.NewSequence(each.Object)
		require.NoError(t, err)
	}
}

func (s *fakeSource) add(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	kind := object.GetKind()
	if object.GetNamespace() == "" && kind != "ClusterPodSequence" && kind != "Node" && kind != "Namespace" {
		object.SetNamespace("shop")
	}
	object.SetUID(uidOf(kind, object.GetName()))
	object.SetResourceVersion("1")
	if creation := object.GetCreationTimestamp(); creation.IsZero() {
		object.SetCreationTimestamp(metav1.NewTime(now.Add(-10 * time.Minute)))
	}
	owners := object.GetOwnerReferences()
	for i := range owners {
		yes := true
		owners[i].UID, owners[i].Controller = uidOf(owners[i].Kind, owners[i].Name), &yes
		if owners[i].APIVersion == "" {
			owners[i].APIVersion = map[string]string{"Job": "batch/v1"}[owners[i].Kind]
			if owners[i].APIVersion == "" {
				owners[i].APIVersion = "apps/v1"
			}
		}
	}
	object.SetOwnerReferences(owners)
	if object.GroupVersionKind().Group == v1alpha1.GroupVersion.Group {
		each, err := snapshot.NewSequence(object)
		require.NoError(t, err)
		s.Sequences = append(s.Sequences, each)
		return
	}
	if kind == "PodGroup" {
		s.PodGroups = append(s.PodGroups, snapshot.NewPodGroup(podgroups.Kind("podgroups."+object.GroupVersionKind().Group), object))
		return
	}
	typed, err := typedOf(object)
	require.NoError(t, err)
	switch o := typed.(type) {
	case *corev1.Pod:
		s.Pods = append(s.Pods, o)
	case *corev1.Node:
		s.Nodes = append(s.Nodes, o)
	case *corev1.Namespace:
		s.Namespaces = append(s.Namespaces, o)
	case *corev1.ResourceQuota:
		s.Quotas = append(s.Quotas, o)
	case *corev1.Event:
		o.InvolvedObject.UID = uidOf(o.InvolvedObject.Kind, o.InvolvedObject.Name)
		s.Events = append(s.Events, o)
	default:
		s.Workloads[inventory.Kind(kind)] = append(s.Workloads[inventory.Kind(kind)], typed.(client.Object))
	}
}

// typedOf returns the object in the type of its kind, if that is one of Kubernetes.
func typedOf(object *unstructured.Unstructured) (runtime.Object, error) {
	typed, err := clientgoscheme.Scheme.New(object.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	return typed, clientgoscheme.Scheme.Convert(object, typed, nil)
}

func uidOf(kind, name string) types.UID { return types.UID(strings.ToLower(kind + "-" + name)) }

package check

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	fakedynamic "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/podseqctl/text"
)

// now is the time of all golden tests.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestGolden examines the clusters of testdata. "cluster" begins one with the objects below it. Its arguments say what is different
// from a cluster of today, whose user may do everything: server=VERSION, kinds=PLURAL,... that are installed, forbidden=RESOURCE,... that may not be read, not=VERB:RESOURCE,... that the user may not do, only=NAMESPACE outside of
// which nothing may be read. "check" prints what is found.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var reader *Reader
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "cluster":
				reader = newCluster(t, d)
				return "ok\n"
			case "check":
				options := Options{
					Namespace: "shop", Installation: "podsequence-system", SchedulerNames: []string{"podsequence-scheduler"},
					Version: "v1.4.0", Kubernetes: "v1.37.1", Now: now,
				}
				for _, arg := range d.CmdArgs {
					switch arg.Key {
					case "version":
						options.Version = arg.Vals[0]
					case "scheduler-names":
						options.SchedulerNames = arg.Vals
					}
				}
				report, err := reader.Examine(t.Context(), options)
				require.NoError(t, err)
				for _, line := range report {
					require.Equal(t, line.State == OK, line.Fix == "", "%+v: what is not OK says what to do", line)
				}
				var out bytes.Buffer
				report.Print(&out, text.Style{})
				return out.String()
			}
			d.Fatalf(t, "unknown directive")
			return ""
		})
	})
}

// newCluster returns a Reader of a cluster with the objects of a test.
func newCluster(t *testing.T, d *datadriven.TestData) *Reader {
	t.Helper()
	args := map[string][]string{
		"server": {"v1.37.1"}, "kinds": {"podsequences", "clusterpodsequences", "sequentialjobs", "deploymentcoordinations"},
	}
	for _, arg := range d.CmdArgs {
		args[arg.Key] = arg.Vals
	}
	typed, others := parse(t, d.Input)
	core := fake.NewClientset(typed...)
	lists := map[schema.GroupVersionResource]string{
		v1alpha1.PodSequenceResource: "PodSequenceList", v1alpha1.ClusterPodSequenceResource: "ClusterPodSequenceList",
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}: "CustomResourceDefinitionList",
	}
	for plural, kind := range map[string]string{validating: "ValidatingAdmissionPolicy", mutating: "MutatingAdmissionPolicy"} {
		lists[admission.WithResource(plural)] = kind + "List"
		lists[admission.WithResource(strings.TrimSuffix(plural, "ies")+"y"+ofBindings)] = kind + "BindingList"
	}
	dynamic := fakedynamic.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, others...)

	discovery := core.Discovery().(*fakediscovery.FakeDiscovery)
	discovery.FakedServerVersion = &version.Info{GitVersion: args["server"][0]}
	served := map[string][]metav1.APIResource{}
	installed := sets.New(args["kinds"]...)
	for _, each := range ourKinds {
		if installed.Has(each.plural) {
			served[each.String()] = append(served[each.String()], metav1.APIResource{Name: each.plural})
		}
	}
	if !strings.HasPrefix(args["server"][0], "v1.35") {
		served[admission.String()] = []metav1.APIResource{{Name: mutating}}
	}
	for group, resources := range served {
		discovery.Resources = append(discovery.Resources, &metav1.APIResourceList{GroupVersion: group, APIResources: resources})
	}

	forbidden, refused := sets.New(args["forbidden"]...), sets.New(args["not"]...)
	only := args["only"]
	refuse := func(action clienttesting.Action) (bool, runtime.Object, error) {
		resource := action.GetResource()
		outside := len(only) > 0 && action.GetNamespace() != only[0] && action.GetVerb() != "create"
		if outside || forbidden.Has(resource.Resource) {
			return true, nil, apierrors.NewForbidden(resource.GroupResource(), "", errors.New("no right"))
		}
		return false, nil, nil
	}
	for _, client := range []*clienttesting.Fake{&core.Fake, &dynamic.Fake} {
		for _, verb := range []string{"list", "get"} {
			client.PrependReactor(verb, "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
				if action.GetResource().Resource == "resource" || action.GetResource().Resource == "version" {
					return false, nil, nil // discovery
				}
				return refuse(action)
			})
		}
	}
	core.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		asked := review.Spec.ResourceAttributes
		review.Status.Allowed = !refused.Has(asked.Verb + ":" + asked.Resource)
		return true, review, nil
	})
	return &Reader{Core: core, Dynamic: dynamic}
}

// parse reads objects: those of Kubernetes' own kinds that the typed client serves, and the others. A document of kind Policies stands
// for the shipped policies of its mode, with their bindings, but for those that it names.
func parse(t *testing.T, input string) (typed, others []runtime.Object) {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(input), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return typed, others
		} else {
			require.NoError(t, err)
		}
		switch group := object.GroupVersionKind().Group; {
		case len(object.Object) == 0:
		case object.GetKind() == "Policies":
			others = append(others, policiesOf(t, object)...)
		case group == v1alpha1.GroupVersion.Group, group == admission.Group, group == "apiextensions.k8s.io":
			others = append(others, object)
		default:
			into, err := clientgoscheme.Scheme.New(object.GroupVersionKind())
			require.NoError(t, err)
			require.NoError(t, clientgoscheme.Scheme.Convert(object, into, nil))
			if pod, ok := into.(*corev1.Pod); ok && pod.CreationTimestamp.IsZero() {
				pod.CreationTimestamp = metav1.NewTime(now.Add(-10 * time.Minute))
			}
			typed = append(typed, into)
		}
	}
}

// policiesOf returns the policies that an installation has, but for those that are without a binding or missing.
func policiesOf(t *testing.T, what *unstructured.Unstructured) []runtime.Object {
	t.Helper()
	names := func(field string) sets.Set[string] {
		list, _, err := unstructured.NestedStringSlice(what.Object, field)
		require.NoError(t, err)
		return sets.New(list...)
	}
	missing, unbound := names("missing"), names("unbound")
	var objects []runtime.Object
	directories, _, err := unstructured.NestedStringSlice(what.Object, "directories")
	require.NoError(t, err)
	for _, directory := range directories {
		found, err := policiesIn(directory)
		require.NoError(t, err)
		require.NotEmpty(t, found, directory)
		for _, each := range found {
			if missing.Has(each.name) {
				continue
			}
			kind := map[string]string{validating: "ValidatingAdmissionPolicy", mutating: "MutatingAdmissionPolicy"}[each.plural]
			add := func(kind string, spec map[string]any) {
				object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
				object.SetGroupVersionKind(admission.WithKind(kind))
				object.SetName(each.name)
				objects = append(objects, object)
			}
			add(kind, map[string]any{})
			if !unbound.Has(each.name) {
				add(kind+"Binding", map[string]any{"policyName": each.name})
			}
		}
	}
	return objects
}

func TestALeaseThatIsRenewedWhileItIsReadIsNotStale(t *testing.T) {
	for name, test := range map[string]struct {
		renewed time.Duration // between the two reads
		want    State
	}{
		"the clock of this machine differs": {2 * time.Second, OK},
		"nobody renews it":                  {0, Wrong},
	} {
		t.Run(name, func(t *testing.T) {
			core, reads := fake.NewClientset(), 0
			core.PrependReactor("get", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
				renewed := metav1.NewMicroTime(now.Add(-time.Hour))
				if reads++; reads > 2 { // of two leases
					renewed = metav1.NewMicroTime(renewed.Add(test.renewed))
				}
				return true, &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: new("somebody"), RenewTime: &renewed}}, nil
			})
			f := &facts{Options: Options{Now: now, Again: time.Millisecond, SchedulerNames: []string{"podsequence-scheduler"}}, leases: map[string]*lease{}}
			(&Reader{Core: core}).readLeases(t.Context(), f)
			lines := f.judgeLeases()
			require.Len(t, lines, 2)
			for _, line := range lines {
				assert.Equal(t, test.want, line.State, line.Says)
			}
		})
	}
}

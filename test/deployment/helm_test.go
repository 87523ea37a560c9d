package deployment

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	. "example.com/podsequence/test/harness/builders"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const (
	programsRelease = "podsequence"
	kindsRelease    = "podsequence-crds"
)

// TestHelmInstallsUpgradesAndUninstalls begins with what kubectl installed, which Helm takes over, with pods in flight. The
// programs are the cluster's own processes: those of the Deployments are only simulated.
func TestHelmInstallsUpgradesAndUninstalls(t *testing.T) {
	t.Parallel()
	s := ownSite(t, controlplane.Options{})
	h := newHelm(s)
	previous := h.packaged("0.0.1")
	ns := newNamespace(s)
	create(s, MakeSequence(ns, "shop").Pods("First", "first").Pods("Second", "second").Obj(),
		ourPod(ns, "first").Annotation(cluster.ReadyAfter, "never").Obj(), ourPod(ns, "second").Obj())
	cluster.Await(s, "second to be told what it waits for", func() bool { return cluster.IsHeld(get(s, &corev1.Pod{}, ns, "second")) })

	s.Log("Helm takes over what was applied")
	takeOver := []string{"--take-ownership", "--force-conflicts"}
	h.run(append([]string{"install", kindsRelease, previous[kindsRelease]}, takeOver...)...)
	h.run(slices.Concat([]string{"install", programsRelease, previous[programsRelease]}, takeOver, testValues)...)
	h.run("test", programsRelease, "--timeout=10m")

	s.Log("upgrade from the previous charts, and back")
	h.run("upgrade", kindsRelease, chartOf(kindsRelease))
	h.run(append([]string{"upgrade", programsRelease, chartOf(programsRelease), "--set=policies.optIn=false"}, testValues...)...)
	optIn := objectNamed("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", "opt-in.podsequence.example.com")
	assert.False(s, exists(s, optIn), "the policy that was turned off is there")
	h.run("rollback", programsRelease, "1")
	assert.True(s, exists(s, optIn), "the policy is not there again")
	assert.Empty(s, get(s, &corev1.Pod{}, ns, "second").Spec.NodeName, "a pod that waits was released by an upgrade")
	require.NoError(s, s.cluster.API.Patch(s.Context(), get(s, &corev1.Pod{}, ns, "first"), client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"`+cluster.ReadyAfter+`":"0s"}}}`))))
	awaitBound(s, ns, "second")

	s.Log("uninstall")
	installed := append(h.objects(programsRelease), h.objects(kindsRelease)...)
	h.run("uninstall", programsRelease, "--wait")
	h.run("uninstall", kindsRelease, "--wait")
	for _, object := range installed {
		if object.GetKind() == "CustomResourceDefinition" {
			assert.True(s, exists(s, object), "%s was removed, and all objects with it", object.GetName())
		} else {
			cluster.Await(s, object.GetKind()+" "+object.GetName()+" to be removed", func() bool { return !exists(s, object) })
		}
	}
	get(s, &v1alpha1.PodSequence{}, ns, "shop") // is still there

	s.Log("install from nothing but the kinds")
	h.run("install", kindsRelease, chartOf(kindsRelease))
	h.run("install", programsRelease, chartOf(programsRelease), "--wait", "--timeout=10m")
}

// testValues make the pods of `helm test` end, which nobody else would do on a simulated node.
var testValues = []string{`--set-json=tests.podAnnotations={"` + cluster.CompleteAfter + `":"0s"}`}

// helm runs Helm, as the cluster's administrator does.
type helm struct {
	*site
	namespace, home string
}

func newHelm(s *site) *helm { return &helm{site: s, namespace: systemNamespace, home: s.TempDir()} }

// chartOf is the directory of the chart that a release is of.
func chartOf(release string) string {
	directory, err := filepath.Abs(filepath.Join("../../charts", release))
	if err != nil {
		panic(err)
	}
	return directory
}

// run runs Helm, which must succeed, and returns its standard output.
func (h *helm) run(arguments ...string) []byte {
	h.Helper()
	output, problems, err := h.try(arguments...)
	require.NoError(h, err, "helm %v\n%s%s", arguments, output, problems)
	return output
}

// try runs Helm, and returns what it prints and how it ends.
func (h *helm) try(arguments ...string) (output []byte, problems string, err error) {
	h.Helper()
	bin, err := controlplane.FindBin()
	require.NoError(h, err)
	program := filepath.Join(bin, "helm")
	require.FileExists(h, program, "run make build-helm")
	command := exec.CommandContext(h.Context(), program, arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+h.cluster.Kubeconfig(), "HELM_NAMESPACE="+h.namespace,
		"HELM_CACHE_HOME="+h.home, "HELM_CONFIG_HOME="+h.home, "HELM_DATA_HOME="+h.home)
	var printed, complaints bytes.Buffer
	command.Stdout, command.Stderr = &printed, &complaints
	err = command.Run()
	return printed.Bytes(), complaints.String(), err
}

// packaged packages both charts with a version, and returns the archives by release.
func (h *helm) packaged(version string) map[string]string {
	h.Helper()
	directory, archives := h.TempDir(), map[string]string{}
	for _, release := range []string{kindsRelease, programsRelease} {
		h.run("package", chartOf(release), "--version="+version, "--app-version=v"+version, "--destination="+directory)
		archives[release] = filepath.Join(directory, release+"-"+version+".tgz")
	}
	return archives
}

// objects are those of a release, with those of its tests.
func (h *helm) objects(release string) []*unstructured.Unstructured {
	h.Helper()
	return append(decodeObjects(h.site, h.run("get", "manifest", release)), decodeObjects(h.site, h.run("get", "hooks", release))...)
}

func decodeObjects(s *site, text []byte) []*unstructured.Unstructured {
	s.Helper()
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); err != nil {
			require.ErrorContains(s, err, "EOF")
			return objects
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

func objectNamed(apiVersion, kind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	object.SetName(name)
	return object
}

// exists reports whether an object is there.
func exists(s *site, object *unstructured.Unstructured) bool {
	s.Helper()
	found := objectNamed(object.GetAPIVersion(), object.GetKind(), object.GetName())
	err := s.cluster.API.Get(s.Context(), client.ObjectKeyFromObject(object), found)
	if !apierrors.IsNotFound(err) {
		require.NoError(s, err)
	}
	return err == nil
}

package installs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// tool installs what a folder has, as people do with it. directory is an empty one, for its files.
type tool struct {
	name    string
	install func(t testing.TB, directory string, files []file)
	// late is what comes when all pods of the first installation are held, and last what comes when those are ready.
	late, last func(t testing.TB, files []file)
	// atFirst is how many Deployments the first installation has, all by default.
	atFirst int
}

var tools = []tool{
	{name: "kubectl-apply-k", install: kubectlApplyKustomization},
	{name: "kubectl-apply-f", install: kubectlApplyFolder},
	{name: "helm-install", install: helmInstall},
	{name: "helm-upgrade", install: helmUpgrade},
	{name: "flux", install: applyAsFlux},
	{name: "argo", install: syncWave("0"), last: func(t testing.TB, files []file) { syncWave("1")(t, "", files) }, atFirst: 2},
	{name: "sequence-later", install: createWorkloads, late: createSequences},
}

// kubectlApplyKustomization applies the files with kubectl, which sorts objects by kind, custom resources last.
func kubectlApplyKustomization(t testing.TB, directory string, files []file) {
	t.Helper()
	content, err := json.Marshal(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": write(t, directory, files),
		"sortOptions": map[string]string{"order": "legacy"},
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(directory, "kustomization.yaml"), content, 0o600))
	shared.MustShell(t, "kubectl apply -k "+directory)
}

// kubectlApplyFolder applies the files with kubectl, one after the other.
func kubectlApplyFolder(t testing.TB, directory string, files []file) {
	t.Helper()
	write(t, directory, files)
	shared.MustShell(t, "kubectl apply -f "+directory)
}

// helmInstall installs the files with Helm, which sorts objects by kind, custom resources last.
func helmInstall(t testing.TB, directory string, files []file) {
	t.Helper()
	helm(t, "install", "shop-"+filepath.Base(directory), writeChart(t, directory, "0.1.0", files))
}

// helmUpgrade upgrades a release that contains next to nothing to one of the whole application.
func helmUpgrade(t testing.TB, directory string, files []file) {
	t.Helper()
	settings := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings-" + filepath.Base(directory)},
	}}
	release := "grown-" + filepath.Base(directory)
	before := []file{{name: "settings.yaml", objects: []*unstructured.Unstructured{settings}}}
	helm(t, "install", release, writeChart(t, filepath.Join(directory, "before"), "0.1.0", before))
	helm(t, "upgrade", release, writeChart(t, filepath.Join(directory, "after"), "0.2.0", files))
}

func writeChart(t testing.TB, directory, version string, files []file) string {
	t.Helper()
	write(t, filepath.Join(directory, "templates"), files)
	chart := fmt.Sprintf("apiVersion: v2\nname: shop\nversion: %s\n", version)
	require.NoError(t, os.WriteFile(filepath.Join(directory, "Chart.yaml"), []byte(chart), 0o600))
	return directory
}

func helm(t testing.TB, arguments ...string) {
	t.Helper()
	bin, err := controlplane.FindBin()
	require.NoError(t, err)
	program := filepath.Join(bin, "helm")
	require.FileExists(t, program, "run make build-helm")
	home := filepath.Join(shared.Dir, "helm")
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+shared.Kubeconfig(), "HELM_NAMESPACE=default",
		"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	output, err := command.CombinedOutput()
	require.NoError(t, err, "helm %v\n%s", arguments, output)
}

// Flux and Argo CD know the order of built-in kinds, of which the folder has these. Both apply other kinds after them.
var kindsInOrder = []string{"Namespace", "Deployment"}

func byKind(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	rank := func(object *unstructured.Unstructured) int {
		if i := slices.Index(kindsInOrder, object.GetKind()); i >= 0 {
			return i
		}
		return len(kindsInOrder)
	}
	return slices.SortedStableFunc(slices.Values(objects), func(a, b *unstructured.Unstructured) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(a.GetName(), b.GetName()))
	})
}

// applyAsFlux applies on the server, in two stages: what defines others, such as Namespaces, and when that is there the rest, after
// a dry run of it all.
func applyAsFlux(t testing.TB, _ string, files []file) {
	t.Helper()
	apply := func(object *unstructured.Unstructured, options ...client.ApplyOption) {
		options = append(options, client.FieldOwner("kustomize-controller"), client.ForceOwnership)
		configuration := client.ApplyConfigurationFromUnstructured(object.DeepCopy())
		require.NoError(t, shared.API.Apply(t.Context(), configuration, options...), "apply %s %s", object.GetKind(), object.GetName())
	}
	objects := byKind(objectsOf(files))
	rest := slices.IndexFunc(objects, func(object *unstructured.Unstructured) bool { return object.GetKind() != "Namespace" })
	for _, stage := range [][]*unstructured.Unstructured{objects[:rest], objects[rest:]} {
		for _, object := range stage {
			apply(object, client.DryRunAll)
		}
		for _, object := range stage {
			apply(object)
		}
	}
}

// syncWave creates what is of a wave, as Argo CD does. It syncs a wave only when all of the one before is healthy.
func syncWave(wave string) func(testing.TB, string, []file) {
	return func(t testing.TB, _ string, files []file) {
		t.Helper()
		create(t, slices.DeleteFunc(byKind(objectsOf(files)), func(object *unstructured.Unstructured) bool {
			return cmp.Or(object.GetAnnotations()["argocd.argoproj.io/sync-wave"], "0") != wave
		}))
	}
}

// createWorkloads creates all but the sequences, createSequences these.
func createWorkloads(t testing.TB, _ string, files []file) {
	t.Helper()
	create(t, slices.DeleteFunc(byKind(objectsOf(files)), isSequence))
}

func createSequences(t testing.TB, files []file) {
	t.Helper()
	create(t, slices.DeleteFunc(objectsOf(files), func(object *unstructured.Unstructured) bool { return !isSequence(object) }))
}

func isSequence(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind() == v1alpha1.PodSequenceKind.GroupKind()
}

func create(t testing.TB, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		require.NoError(t, shared.API.Create(context.WithoutCancel(t.Context()), object), "create %s %s", object.GetKind(), object.GetName())
	}
}

// pods are those that were installed with the tool.
func (tool tool) pods(t testing.TB) []corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	require.NoError(t, shared.API.List(t.Context(), &pods, client.MatchingLabels{toolLabel: tool.name}))
	return pods.Items
}

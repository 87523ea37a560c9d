package controlplane

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/podsequence/manifests"
)

func TestManifestsAreRenderedInAnOrderThatWorks(t *testing.T) {
	files := fstest.MapFS{
		"base/kustomization.yaml": {Data: []byte("resources: [accounts.yaml, namespace.yaml, ../crds]")},
		"base/accounts.yaml":      {Data: []byte("{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: n}}")},
		"base/namespace.yaml":     {Data: []byte("{apiVersion: v1, kind: Namespace, metadata: {name: n}}")},
		"crds/kustomization.yaml": {Data: []byte("resources: [crd.yaml]")},
		"crds/crd.yaml": {Data: []byte(
			"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: c}}")},
	}
	objects, err := renderManifests(files, "base")
	require.NoError(t, err)

	definitions, others := splitDefinitions(objects)
	assert.Equal(t, []string{"CustomResourceDefinition"}, kinds(definitions))
	assert.Equal(t, []string{"Namespace", "ServiceAccount"}, kinds(others))
}

// What the sandbox applies must be what users apply, down to the last field: it is how we know that an API server takes
// it, and that its permissions are enough.
func TestSandboxAppliesTheDefaultInstallationWithoutReplicas(t *testing.T) {
	shipped, err := renderManifests(manifests.FS, "default")
	require.NoError(t, err)
	for _, object := range shipped {
		if object.GetKind() == "Deployment" {
			object.Object["spec"].(map[string]any)["replicas"] = 0
		}
	}
	applied, err := renderManifests(manifests.FS, sandboxKustomization)
	require.NoError(t, err)
	assert.Equal(t, shipped, applied)
}

func TestLiteIsTheDefaultInstallationWithoutTheSchedulerAndNodes(t *testing.T) {
	// What only node scope takes: to read nodes, and pods that are given to the scheduler.
	nodeScope := func(object *unstructured.Unstructured) bool {
		return object.GetName() == "podsequence-controller-nodes" || object.GetName() == "routing.podsequence.example.com"
	}
	var want []string
	shipped, err := renderManifests(manifests.FS, "default")
	require.NoError(t, err)
	for _, object := range shipped {
		if object.GetLabels()["app.kubernetes.io/component"] != "scheduler" && !nodeScope(object) {
			want = append(want, identity(object))
		}
	}
	lite, err := renderManifests(manifests.FS, "lite")
	require.NoError(t, err)
	var got []string
	for _, object := range lite {
		got = append(got, identity(object))
	}
	assert.Equal(t, want, got)
	assert.NotContains(t, strings.Join(got, " "), PodSequenceScheduler)
}

func TestPoliciesThatOlderClustersLackCanBeLeftOut(t *testing.T) {
	older := fstest.MapFS{"older/kustomization.yaml": {Data: []byte(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../default]
components: [../policies/deploymentcoordination/without, ../policies/proof/without, ../policies/routing/without]
`)}}
	require.NoError(t, fs.WalkDir(manifests.FS, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := manifests.FS.ReadFile(path)
		older[path] = &fstest.MapFile{Data: data}
		return err
	}))
	policies := []string{
		"MutatingAdmissionPolicy deploymentcoordination.podsequence.example.com",
		"MutatingAdmissionPolicyBinding deploymentcoordination.podsequence.example.com",
		"MutatingAdmissionPolicy proof.podsequence.example.com",
		"MutatingAdmissionPolicyBinding proof.podsequence.example.com",
		"MutatingAdmissionPolicy routing.podsequence.example.com",
		"MutatingAdmissionPolicyBinding routing.podsequence.example.com",
	}
	for kustomization, want := range map[string]bool{"default": true, "older": false} {
		objects, err := renderManifests(older, kustomization)
		require.NoError(t, err)
		var got []string
		for _, object := range objects {
			got = append(got, identity(object))
		}
		for _, policy := range policies {
			assert.Equal(t, want, slices.Contains(got, policy), "%s in %s", policy, kustomization)
		}
	}
}

func identity(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetName()
}

func kinds(objects []*unstructured.Unstructured) []string {
	var kinds []string
	for _, object := range objects {
		kinds = append(kinds, object.GetKind())
	}
	return kinds
}

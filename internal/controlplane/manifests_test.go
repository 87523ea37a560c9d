package controlplane

import (
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

func TestShippedManifestsHoldNoWorkloads(t *testing.T) {
	objects, err := renderManifests(manifests.FS, baseKustomization)
	require.NoError(t, err)
	assert.Contains(t, kinds(objects), "CustomResourceDefinition")
	assert.Contains(t, kinds(objects), "ServiceAccount")
	assert.NotContains(t, kinds(objects), "Deployment", "the sandbox runs our programs itself")
}

func kinds(objects []*unstructured.Unstructured) []string {
	var kinds []string
	for _, object := range objects {
		kinds = append(kinds, object.GetKind())
	}
	return kinds
}

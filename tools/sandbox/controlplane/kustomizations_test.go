package controlplane

import (
	"io/fs"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"example.com/podsequence/manifests"
	"example.com/podsequence/tools/sandbox/kustomizations"
)

// They refer to the shipped manifests by their places in the repository, so kubectl finds them there too.
func TestKustomizationsOfTheSandboxAreFoundInMemoryAndOnDisk(t *testing.T) {
	directories, err := fs.ReadDir(kustomizations.FS, ".")
	require.NoError(t, err)
	require.NotEmpty(t, directories)
	for _, directory := range directories {
		t.Run(directory.Name(), func(t *testing.T) {
			objects, err := renderManifests(manifests.FS, directory.Name())
			require.NoError(t, err)
			onDisk := filepath.Join("../../..", kustomizations.Directory, directory.Name())
			resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), onDisk)
			require.NoError(t, err)
			assert.Len(t, objects, resources.Size())
			_, err = renderManifests(manifests.FS, directory.Name(), withoutMutatingPolicies)
			assert.NoError(t, err, "with a feature left out")
		})
	}
}

// Releases before had those of the sandbox among their manifests: an upgrade begins with them.
func TestAnEarlierReleaseHasItsOwnKustomizationOfTheSandbox(t *testing.T) {
	objects, err := renderManifests(fstest.MapFS{
		"sandbox/kustomization.yaml": {Data: []byte("resources: [namespace.yaml]")},
		"sandbox/namespace.yaml":     {Data: []byte("{apiVersion: v1, kind: Namespace, metadata: {name: earlier}}")},
	}, sandboxKustomization)
	require.NoError(t, err)
	assert.Equal(t, []string{"Namespace"}, kinds(objects))
}

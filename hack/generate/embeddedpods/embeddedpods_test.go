package embeddedpods

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/manifests"
)

const file = "batch.example.com_sequentialjobs.yaml"

func shipped(t *testing.T) ([]byte, *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	content, err := manifests.FS.ReadFile("crds/" + file)
	require.NoError(t, err)
	definition := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, yaml.UnmarshalStrict(content, definition))
	return content, definition
}

func TestTheDefinitionFitsIntoTheAnnotationOfClientSideApply(t *testing.T) {
	const limit = 256 << 10 // of all annotations of an object together
	content, _ := shipped(t)
	var definition map[string]any
	require.NoError(t, yaml.Unmarshal(content, &definition))
	annotation, err := json.Marshal(definition)
	require.NoError(t, err)
	t.Logf("%d of %d bytes", len(annotation), limit)
	assert.Less(t, len(annotation), limit/2, "leave room for later fields of core/v1")
}

func TestAdaptingWhatIsAdaptedChangesNothing(t *testing.T) {
	content, _ := shipped(t)
	path := filepath.Join(t.TempDir(), file)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	require.NoError(t, AdaptFile(path))
	again, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(content), string(again))
}

func TestWhatIsEmbedded(t *testing.T) {
	_, definition := shipped(t)
	schema := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	pod, err := property(schema, "spec", "template", "spec")
	require.NoError(t, err)
	assert.NotContains(t, pod.Required, "containers")
	assert.True(t, pod.Properties["containers"].Nullable)
	assert.Empty(t, pod.Properties["initContainers"].XListType, "the order of init containers is part of the value")

	template, err := property(schema, "spec", "template")
	require.NoError(t, err)
	assert.NotEmpty(t, template.Description, "our own fields are described")
	assert.Contains(t, template.Properties["metadata"].Properties, "labels", "or they would be pruned")
	containers, err := property(schema, "spec", "containers")
	require.NoError(t, err)
	assert.NotEmpty(t, containers.Description, "our own fields are described")
	assert.Empty(t, containers.Items.Schema.Properties["image"].Description)
	assert.Equal(t, int64(63), *containers.Items.Schema.Properties["name"].MaxLength)
}

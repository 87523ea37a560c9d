package embeddedpods

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
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

// Client-side apply records the whole definition in an annotation, of which an object has 256 KiB; tools, Git and people read the file.
func TestTheDefinitionIsNoLargerThanPeopleAndToolsCanTake(t *testing.T) {
	content, _ := shipped(t)
	assert.Less(t, len(content), 100_000)
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

	for name, schema := range map[string]apiextensionsv1.JSONSchemaProps{
		"a pod": *pod, "its security context": pod.Properties["securityContext"], "its affinity": pod.Properties["affinity"],
		"a volume": *pod.Properties["volumes"].Items.Schema, "an init container": *pod.Properties["initContainers"].Items.Schema,
	} {
		assert.True(t, ptr.Deref(schema.XPreserveUnknownFields, false), "%s keeps fields that are not known yet", name)
	}
	ports := pod.Properties["initContainers"].Items.Schema.Properties["ports"]
	assert.Equal(t, `"TCP"`, string(ports.Items.Schema.Properties["protocol"].Default.Raw), "or what is stored would differ from its manifest")

	template, err := property(schema, "spec", "template")
	require.NoError(t, err)
	assert.NotEmpty(t, template.Description, "our own fields are described")
	assert.Contains(t, template.Properties["metadata"].Properties, "labels", "or they would be pruned")
	containers, err := property(schema, "spec", "containers")
	require.NoError(t, err)
	assert.NotEmpty(t, containers.Description, "our own fields are described")
	assert.Empty(t, containers.Items.Schema.Properties["image"].Description)
	assert.True(t, ptr.Deref(containers.Items.Schema.XPreserveUnknownFields, false))
	assert.Equal(t, int64(63), *containers.Items.Schema.Properties["name"].MaxLength)
}

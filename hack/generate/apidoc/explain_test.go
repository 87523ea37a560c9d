package apidoc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func definitions(t *testing.T) (all []apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	files, err := filepath.Glob("../../../manifests/crds/*_*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var definition apiextensionsv1.CustomResourceDefinition
		require.NoError(t, yaml.Unmarshal(text, &definition))
		all = append(all, definition)
	}
	require.NotEmpty(t, all)
	return all
}

// kubectl explain shows descriptions to people who write YAML. A Go comment that begins with the name of its field says it twice.
func TestNoDescriptionBeginsWithTheNameOfItsField(t *testing.T) {
	for _, definition := range definitions(t) {
		for _, version := range definition.Spec.Versions {
			for _, part := range []string{"spec", "status"} {
				field := version.Schema.OpenAPIV3Schema.Properties[part]
				checkDescription(t, definition.Spec.Names.Kind+"."+part, part, &field)
			}
		}
	}
}

func checkDescription(t *testing.T, path, name string, field *apiextensionsv1.JSONSchemaProps) {
	first, _, _ := strings.Cut(field.Description, " ")
	assert.NotEqual(t, strings.ToLower(name), strings.ToLower(first), "%s: %q: say what the field means", path, field.Description)
	inner := field
	if field.Items != nil {
		inner = field.Items.Schema
	} else if field.AdditionalProperties != nil {
		inner = field.AdditionalProperties.Schema
	}
	if name == "conditions" {
		return // their fields are those of meta/v1
	}
	for name, field := range inner.Properties {
		checkDescription(t, path+"."+name, name, &field)
	}
}

func TestAllKindsHaveAShortNameAndACategory(t *testing.T) {
	// Short names of Kubernetes itself and of projects that many clusters have. The first kind that is found has the name.
	taken := strings.Fields("po rs rc deploy ds sts svc ep no ns cm pv pvc sa sc cs hpa pdb pc ing netpol crd cj ev quota limits csr vap vapb " +
		"sj so gw httproute dc is bc app appset ks hr ro we wf cwf jobset lws pg q vc rayjob")
	names := map[string]bool{}
	for _, name := range taken {
		names[name] = true
	}
	for _, definition := range definitions(t) {
		for _, name := range []string{definition.Spec.Names.Plural, definition.Spec.Names.Singular} {
			names[name] = true
		}
	}
	for _, definition := range definitions(t) {
		kind := definition.Spec.Names
		assert.Len(t, kind.ShortNames, 1, kind.Kind)
		for _, name := range kind.ShortNames {
			assert.False(t, names[name], "%s: %s belongs to another kind", kind.Kind, name)
			names[name] = true
		}
		assert.Equal(t, []string{"podsequence-all"}, kind.Categories, kind.Kind)
		assert.False(t, names["podsequence-all"], "kubectl takes a category before the name of a resource")
	}
}

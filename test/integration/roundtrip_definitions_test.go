package integration

import (
	"bytes"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/manifests"
)

// storedFiles are the definitions that were in use, and objects that they stored. What is in them changes no more.
//
//go:embed testdata/stored
var storedFiles embed.FS

// earlierDefinition is the schema that a definition had for a while.
type earlierDefinition struct {
	// Since is the commit that brought it.
	Since string
	// Schema is all of it; with Change it is what the one before becomes by a JSON merge patch.
	Schema, Change map[string]any
	// Refused is what API servers say of it, if they do not accept it: it could be installed without its rules only.
	Refused string
}

// version is the name that it has as a version of a definition.
func (d earlierDefinition) version() string { return "since-" + d.Since }

// storedObject is an object that definitions allow from one on.
type storedObject struct {
	Since  string
	Object *unstructured.Unstructured
	// Refused is what definitions say of it that only let such an object stay: today's, and earlier ones from RefusedSince on.
	Refused, RefusedSince string
}

// readDocuments reads a file of YAML documents, of which numbers have the types that unstructured objects have.
func readDocuments[T any](t *testing.T, file string) (documents []T) {
	t.Helper()
	content, err := storedFiles.ReadFile("testdata/stored/" + file)
	require.NoError(t, err)
	for decoder := utilyaml.NewYAMLToJSONDecoder(bytes.NewReader(content)); ; {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return documents
		} else {
			require.NoError(t, err)
		}
		var document T
		require.NoError(t, json.Unmarshal(raw, &document), file)
		documents = append(documents, document)
	}
}

func readStoredObjects(t *testing.T, plural string) []storedObject {
	t.Helper()
	return readDocuments[storedObject](t, "objects/"+plural+".yaml")
}

// readEarlierDefinitions returns the definitions of a kind from the first on, with the whole schema of each.
func readEarlierDefinitions(t *testing.T, plural string) []earlierDefinition {
	t.Helper()
	definitions := readDocuments[earlierDefinition](t, "definitions/"+plural+".yaml")
	for i := range definitions {
		if d := &definitions[i]; d.Schema == nil {
			require.NotEmpty(t, d.Change, d.Since)
			d.Schema = merge(definitions[i-1].Schema, d.Change).(map[string]any)
		}
	}
	return definitions
}

// merge applies a JSON merge patch, and changes neither of both.
func merge(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	before, _ := target.(map[string]any)
	after := map[string]any{}
	maps.Copy(after, before)
	for name, change := range changes {
		if change == nil {
			delete(after, name)
		} else {
			after[name] = merge(before[name], change)
		}
	}
	return after
}

// versionedDefinition is today's definition of a kind for another group, with the earlier ones as further versions. Objects are
// stored in today's version.
func versionedDefinition(t *testing.T, file, group string, earlier []earlierDefinition) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	content, err := manifests.FS.ReadFile("crds/" + file)
	require.NoError(t, err)
	definition := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, yaml.UnmarshalStrict(content, definition))
	definition.Name = strings.Replace(definition.Name, definition.Spec.Group, group, 1)
	definition.Spec.Group = group
	for _, d := range earlier {
		schema := runtime.DeepCopyJSON(d.Schema)
		if d.Refused != "" {
			removeField(schema, "x-kubernetes-validations")
		}
		addVersion(t, definition, d.version(), schema)
	}
	return definition
}

// addVersion adds a version like the first one, with another schema, which is not stored.
func addVersion(t *testing.T, definition *apiextensionsv1.CustomResourceDefinition, name string, schema map[string]any) {
	t.Helper()
	version := *definition.Spec.Versions[0].DeepCopy()
	version.Name, version.Storage, version.Schema = name, false, &apiextensionsv1.CustomResourceValidation{}
	content, err := json.Marshal(schema)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, &version.Schema.OpenAPIV3Schema))
	definition.Spec.Versions = append(definition.Spec.Versions, version)
}

// statuses are some that have every field that the definition knows, and among them every value of those that are enumerated.
func (d earlierDefinition) statuses(t *testing.T) (statuses []any) {
	t.Helper()
	status, ok, err := unstructured.NestedMap(d.Schema, "properties", "status")
	require.NoError(t, err)
	require.True(t, ok, "%s has no status", d.Since)
	for i := range 5 {
		statuses = append(statuses, sample(status, i))
	}
	return statuses
}

// sample makes a value of a schema; those of neighbouring numbers differ wherever they can.
func sample(schema map[string]any, i int) any {
	if values, ok := schema["enum"].([]any); ok {
		return values[i%len(values)]
	}
	switch schema["type"] {
	case "object":
		object := map[string]any{}
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			if name == "observedUID" {
				continue // with that of another object, our programs read nothing of the status
			}
			object[name] = sample(property.(map[string]any), i)
			if name == "pendingSince" { // a metav1.MicroTime, which a schema does not tell from a metav1.Time
				object[name] = strings.Replace(object[name].(string), "Z", ".000001Z", 1)
			}
		}
		return object
	case "array":
		items := schema["items"].(map[string]any)
		return []any{sample(items, i), sample(items, i+1)}
	case "integer":
		return int64(i + 1)
	case "boolean":
		return true
	case "string":
		if schema["format"] == "date-time" {
			return time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC).Format(time.RFC3339)
		}
		sample := fmt.Sprintf("Sample%d", i)
		if schema["format"] == "byte" {
			return base64.StdEncoding.EncodeToString([]byte(sample))
		}
		return sample
	default:
		panic(fmt.Sprintf("no sample of type %v", schema["type"]))
	}
}

// removeField removes a field wherever it is in a value.
func removeField(value any, name string) {
	switch value := value.(type) {
	case map[string]any:
		delete(value, name)
		for _, inner := range value {
			removeField(inner, name)
		}
	case []any:
		for _, inner := range value {
			removeField(inner, name)
		}
	}
}

package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/manifests"
)

// Sample returns the objects of a sample, for the namespace of the story.
func (s *Story) Sample(file string) []*unstructured.Unstructured {
	s.Helper()
	content, err := manifests.FS.ReadFile("samples/" + file)
	require.NoError(s, err)
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLToJSONDecoder(bytes.NewReader(content))
	for {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return objects
		} else {
			require.NoError(s, err)
		}
		object := &unstructured.Unstructured{}
		require.NoError(s, object.UnmarshalJSON(raw))
		object.SetNamespace(s.Namespace)
		objects = append(objects, object)
	}
}

// CreateSample creates what a sample has, after a change to each object. The API server must know every field.
func (s *Story) CreateSample(file string, change func(*unstructured.Unstructured)) {
	s.Helper()
	strict := client.WithFieldValidation(s.API, metav1.FieldValidationStrict)
	for _, object := range s.Sample(file) {
		change(object)
		require.NoError(s, strict.Create(s.Ctx, object), "create %s of %s", object.GetKind(), file)
	}
}

// Unchanged leaves an object of a sample as it is.
func Unchanged(*unstructured.Unstructured) {}

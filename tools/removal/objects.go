package removal

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// The kinds that are removed in a place of their own.
const (
	definitionKind = "CustomResourceDefinition"
	namespaceKind  = "Namespace"
	deploymentKind = "Deployment"
)

// ReadObjects reads what was applied to install us, as YAML or JSON documents.
func ReadObjects(in io.Reader) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(in, 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("decode document %d: %w", len(objects)+1, err)
		}
		if len(object.Object) == 0 {
			continue
		}
		if object.GetKind() == "" || object.GetName() == "" {
			return nil, fmt.Errorf("document %d has no kind or no name", len(objects)+1)
		}
		objects = append(objects, object)
	}
	if len(objects) == 0 {
		return nil, errors.New("there are no objects in it: give the file that was applied to install PodSequence")
	}
	return objects, nil
}

// ofKinds are the objects of some kinds, the last first: what was applied last stands on what came before.
func ofKinds(objects []*unstructured.Unstructured, kinds ...string) []*unstructured.Unstructured {
	return where(objects, func(kind string) bool { return slices.Contains(kinds, kind) })
}

func notOfKinds(objects []*unstructured.Unstructured, kinds ...string) []*unstructured.Unstructured {
	return where(objects, func(kind string) bool { return !slices.Contains(kinds, kind) })
}

func where(objects []*unstructured.Unstructured, wanted func(kind string) bool) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, object := range slices.Backward(objects) {
		if wanted(object.GetKind()) {
			found = append(found, object)
		}
	}
	return found
}

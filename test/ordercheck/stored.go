package ordercheck

import (
	"bytes"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// storedElsewhere are the kinds that are built in and that the API server does not store under their plural.
var storedElsewhere = map[schema.GroupKind]string{
	{Kind: "Node"}:                                                    "minions",
	{Kind: "ReplicationController"}:                                   "controllers",
	{Kind: "Service"}:                                                 "services/specs",
	{Kind: "Endpoints"}:                                               "services/endpoints",
	{Group: "networking.k8s.io", Kind: "Ingress"}:                     "ingress",
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:             "apiregistration.k8s.io/apiservices",
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: "apiextensions.k8s.io/customresourcedefinitions",
}

// keysOf are the keys that the API server may store an object under. defined are the names of the definitions that any kind had.
func keysOf(of v1alpha1.ObjectReference, defined map[schema.GroupKind]sets.Set[string]) []string {
	kind := schema.FromAPIVersionAndKind(of.APIVersion, of.Kind)
	var paths []string
	for name := range defined[kind.GroupKind()] {
		resource := schema.ParseGroupResource(name)
		paths = append(paths, resource.Group+"/"+resource.Resource)
	}
	if path, known := storedElsewhere[kind.GroupKind()]; known {
		paths = append(paths, path)
	} else if len(paths) == 0 && clientgoscheme.Scheme.IsGroupRegistered(kind.Group) {
		plural, _ := apimeta.UnsafeGuessKindToResource(kind)
		paths = append(paths, plural.Resource)
	}
	for i, path := range paths {
		paths[i] = "/registry/" + path + "/" + of.Name
		if of.Namespace != "" {
			paths[i] = "/registry/" + path + "/" + of.Namespace + "/" + of.Name
		}
	}
	return paths
}

// readStored reads an object of any kind, as protobuf or JSON.
func readStored(value []byte) (*unstructured.Unstructured, error) {
	if bytes.HasPrefix(value, []byte("{")) {
		object := &unstructured.Unstructured{}
		return object, object.UnmarshalJSON(value)
	}
	typed, stored, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(value, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("decode an object: %w", err)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, fmt.Errorf("convert an object: %w", err)
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetGroupVersionKind(*stored)
	return object, nil
}

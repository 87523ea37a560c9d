package podgroupwatch

import (
	"context"
	"fmt"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"example.com/podsequence/internal/definitions"
	"example.com/podsequence/internal/podgroups"
	"example.com/podsequence/internal/reflectors"
)

// newCoscheduling is the kind that a CustomResourceDefinition brings.
func newCoscheduling(config *rest.Config) (*kind, error) {
	definition, err := definitions.New(config, schema.ParseGroupResource(string(podgroups.Coscheduling)))
	if err != nil {
		return nil, err
	}
	definition.Name, definition.Status = definitions.Resource, nil
	k, err := newKind(config, podgroups.Coscheduling, coscheduling.SchemeGroupVersion, podgroups.MinMember)
	if err != nil {
		return nil, err
	}
	k.definition = definition
	return k, nil
}

// newNative is the kind that is built in.
func newNative(config *rest.Config) (*kind, error) {
	return newKind(config, podgroups.Native, schedulingv1beta1.SchemeGroupVersion, podgroups.MinCount)
}

func newKind(
	config *rest.Config, name podgroups.Kind, version schema.GroupVersion, minimumOf func(*unstructured.Unstructured) int32,
) (*kind, error) {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client for %s: %w", name, err)
	}
	client := objects.Resource(version.WithResource("podgroups"))
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: client.Watch,
	}
	return &kind{
		name: name, client: client, minimumOf: minimumOf,
		groups: reflectors.Reflector{Name: string(name), Source: source, Type: &unstructured.Unstructured{}},
	}, nil
}

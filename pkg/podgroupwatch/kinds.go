package podgroupwatch

import (
	"context"
	"fmt"
	"slices"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"example.com/podsequence/pkg/definitions"
	"example.com/podsequence/pkg/podgroups"
	"example.com/podsequence/pkg/reflectors"
)

// newCoscheduling is the kind that a CustomResourceDefinition brings.
func newCoscheduling(config *rest.Config) (*kind, error) {
	definition, err := definitions.New(config, schema.ParseGroupResource(string(podgroups.Coscheduling)))
	if err != nil {
		return nil, err
	}
	definition.Name, definition.Status = definitions.Resource, nil
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client for Coscheduling PodGroups: %w", err)
	}
	groups := objects.Resource(coscheduling.SchemeGroupVersion.WithResource(resource))
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return groups.List(ctx, options)
		},
		WatchFuncWithContext: groups.Watch,
	}
	return &kind{
		name: podgroups.Coscheduling, definition: definition,
		list: func(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, error) {
			return groups.Namespace(namespace).List(ctx, options)
		},
		groups: reflectorOf(podgroups.Coscheduling, source, &unstructured.Unstructured{}), minimumOf: minimumBy(podgroups.MinMember),
	}, nil
}

func reflectorOf(kind podgroups.Kind, source cache.ListerWatcher, object any) reflectors.Reflector {
	return reflectors.Reflector{Name: string(kind), Source: source, Type: object}
}

// apiServices are the group versions that the API server serves, also those that are built in. To watch the one of
// PodGroups is to be told when they become available, which takes a restart of the API server with other flags.
var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// newNative is the kind that is built in.
func newNative(config *rest.Config) (*kind, error) {
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client for PodGroups: %w", err)
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client for metadata: %w", err)
	}
	version := schedulingv1beta1.SchemeGroupVersion
	groups := core.SchedulingV1beta1()
	source := cache.NewListWatchFromClient(groups.RESTClient(), resource, metav1.NamespaceAll, fields.Everything())
	definition := &definitions.Watcher{
		Reflector: reflectors.Reflector{
			Name: apiServices.Resource, Type: &metav1.PartialObjectMetadata{},
			Source: watchOne(objects.Resource(apiServices), version.Version+"."+version.Group),
		},
		IsServed: func(ctx context.Context, _ any) bool { return discovered(ctx, core.Discovery()) },
	}
	return &kind{
		name: podgroups.Native, definition: definition,
		list: func(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, error) {
			return groups.PodGroups(namespace).List(ctx, options)
		},
		groups: reflectorOf(podgroups.Native, source, &schedulingv1beta1.PodGroup{}), minimumOf: minimumBy(podgroups.MinCount),
	}, nil
}

// discovered reports whether PodGroups are among what the group version serves. If that cannot be told they may be: to
// watch what is not served does no harm.
func discovered(ctx context.Context, client discovery.DiscoveryInterface) bool {
	served, err := client.ServerResourcesForGroupVersion(schedulingv1beta1.SchemeGroupVersion.String())
	if err != nil {
		klog.FromContext(ctx).Error(err, "Could not tell whether PodGroups are served", "version", schedulingv1beta1.SchemeGroupVersion)
		return !apierrors.IsNotFound(err)
	}
	return slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == resource })
}

// watchOne lists and watches the metadata of one object.
func watchOne(client metadata.ResourceInterface, name string) cache.ListerWatcher {
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selector
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			return client.Watch(ctx, options)
		},
	}
}

// minimumBy makes a function of one type one of any.
func minimumBy[T any](minimum func(T) int32) func(any) (int32, error) {
	return func(group any) (int32, error) {
		typed, ok := group.(T)
		if !ok {
			return 0, fmt.Errorf("the API server sent a %T, want a %T", group, typed)
		}
		return minimum(typed), nil
	}
}

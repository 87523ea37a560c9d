package objectwatch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is how the API server serves a kind.
type kind struct {
	resource   schema.GroupVersionResource
	namespaced bool
	hasStatus  bool // it has a subresource status
}

// discoverer asks the API server what it serves. A discovery.DiscoveryInterfaceWithContext is one.
type discoverer interface {
	ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
}

// discover returns how a kind is served; nil if it is not.
func discover(ctx context.Context, api discoverer, gvk schema.GroupVersionKind) (*kind, error) {
	list, err := api.ServerResourcesForGroupVersionWithContext(ctx, gvk.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask what %s serves: %w", gvk.GroupVersion(), err)
	}
	// A subresource may be of the same kind as its resource.
	i := slices.IndexFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == gvk.Kind && !strings.Contains(r.Name, "/") })
	if i < 0 {
		return nil, nil
	}
	found := list.APIResources[i]
	return &kind{
		resource: gvk.GroupVersion().WithResource(found.Name), namespaced: found.Namespaced,
		hasStatus: slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == found.Name+"/status" }),
	}, nil
}

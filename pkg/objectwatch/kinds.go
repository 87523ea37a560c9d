package objectwatch

import (
	"context"
	"fmt"
	"strings"
	"sync"

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

// kinds remembers how kinds are served. What is not served it asks about again each time, and keeps nothing of: people may name as many
// versions as they like.
type kinds struct {
	api discoverer

	mu       sync.Mutex
	versions map[schema.GroupVersion]*servedVersion
}

// servedVersion is what is known of one version of an API group. Whoever asks about it first holds the lock meanwhile, so that many who
// ask at the same time make one request.
type servedVersion struct {
	mu   sync.Mutex
	list *metav1.APIResourceList
}

func newKinds(api discoverer) *kinds {
	return &kinds{api: api, versions: map[schema.GroupVersion]*servedVersion{}}
}

// forget makes get ask again about the kinds of an API group. An answer that is under way is not remembered.
func (k *kinds) forget(group string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for version := range k.versions {
		if version.Group == group {
			delete(k.versions, version)
		}
	}
}

func (k *kinds) forgetAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.versions)
}

func (k *kinds) version(version schema.GroupVersion) *servedVersion {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.versions[version]
	if known == nil {
		known = &servedVersion{}
		k.versions[version] = known
	}
	return known
}

// drop forgets a version of which nothing came to be known.
func (k *kinds) drop(version schema.GroupVersion, unknown *servedVersion) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.versions[version] == unknown {
		delete(k.versions, version)
	}
}

// get returns how a kind is served; nil if it is not.
func (k *kinds) get(ctx context.Context, gvk schema.GroupVersionKind) (*kind, error) {
	version := k.version(gvk.GroupVersion())
	version.mu.Lock()
	defer version.mu.Unlock()
	if found := find(version.list, gvk); found != nil {
		return found, nil
	}
	defer func() {
		if version.list == nil {
			k.drop(gvk.GroupVersion(), version)
		}
	}()
	list, err := k.api.ServerResourcesForGroupVersionWithContext(ctx, gvk.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask what %s serves: %w", gvk.GroupVersion(), err)
	}
	version.list = list
	return find(list, gvk), nil
}

// find finds a kind among the resources of its group and version.
func find(list *metav1.APIResourceList, gvk schema.GroupVersionKind) *kind {
	if list == nil {
		return nil
	}
	var found *kind
	for i := range list.APIResources {
		// A subresource may be of the same kind as its resource.
		if r := &list.APIResources[i]; r.Kind == gvk.Kind && !strings.Contains(r.Name, "/") {
			found = &kind{resource: gvk.GroupVersion().WithResource(r.Name), namespaced: r.Namespaced}
			break
		}
	}
	if found == nil {
		return nil
	}
	for i := range list.APIResources {
		found.hasStatus = found.hasStatus || list.APIResources[i].Name == found.resource.Resource+"/status"
	}
	return found
}

package feed

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// watchedKind is a kind of built-in object that the engine gets.
type watchedKind struct {
	resource schema.GroupVersionResource
	source   cache.ListerWatcher
	object   any
	store    worldStore
}

// worldStore is a store that says when it has had its first complete list.
type worldStore interface {
	cache.ReflectorStore
	listed() <-chan struct{}
}

func watched(client rest.Interface, resource string, object any, store worldStore) watchedKind {
	return watchedKind{
		resource: client.APIVersion().WithResource(resource), object: object, store: store,
		source: cache.NewListWatchFromClient(client, resource, corev1.NamespaceAll, fields.Everything()),
	}
}

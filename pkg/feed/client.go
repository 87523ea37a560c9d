package feed

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// listWatchSequences lists and watches PodSequences, or ClusterPodSequences, as they are stored. Decoded into their Go type, one that cannot be,
// because it was stored when the definition allowed more, would fail the whole list, and so hold all pods.
func listWatchSequences(config *rest.Config, resource schema.GroupVersionResource) (cache.ListerWatcher, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client for %s: %w", resource.Resource, err)
	}
	sequences := client.Resource(resource)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return sequences.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return sequences.Watch(ctx, options)
		},
	}, client), nil
}

// clients make clients for built-in kinds: pods, workloads, nodes and namespaces.
type clients struct {
	config *rest.Config
	client *http.Client
}

func newClients(config *rest.Config) (clients, error) {
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = leanSerializer{rest.CodecFactoryForGeneratedClient(scheme.Scheme, scheme.Codecs).WithoutConversion()}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return clients{}, fmt.Errorf("make client for built-in kinds: %w", err)
	}
	return clients{config, client}, nil
}

// of returns the client for the kinds of a group and version.
func (c clients) of(version schema.GroupVersion) (rest.Interface, error) {
	config := rest.CopyConfig(c.config)
	if config.GroupVersion, config.APIPath = &version, "/apis"; version.Group == corev1.GroupName {
		config.APIPath = "/api"
	}
	client, err := rest.RESTClientForConfigAndClient(config, c.client)
	if err != nil {
		return nil, fmt.Errorf("make client for %s: %w", version, err)
	}
	return client, nil
}

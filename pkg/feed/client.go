package feed

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// listWatchSequences lists and watches PodSequences as they are stored. Decoded into their Go type, one that cannot be,
// because it was stored when the definition allowed more, would fail the whole list, and so hold all pods.
func listWatchSequences(config *rest.Config) (cache.ListerWatcher, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client for PodSequences: %w", err)
	}
	sequences := client.Resource(v1alpha1.PodSequenceResource)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return sequences.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return sequences.Watch(ctx, options)
		},
	}, client), nil
}

// newestSequence asks with a consistent list: it has everything that was written before it was asked for.
func newestSequence(client metadata.Interface) func(context.Context) (now, lastChange string, err error) {
	return func(ctx context.Context) (now, lastChange string, err error) {
		list, err := client.Resource(v1alpha1.PodSequenceResource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", "", err
		}
		for i := range list.Items {
			if version := list.Items[i].ResourceVersion; after(version, lastChange) {
				lastChange = version
			}
		}
		return list.ResourceVersion, lastChange, nil
	}
}

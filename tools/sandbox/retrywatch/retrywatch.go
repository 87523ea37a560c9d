// Package retrywatch watches objects through whatever ends a watch. The API server ends one whose reader is slow for a
// moment, as all are on a loaded machine, and a watcher must not take that for the end.
package retrywatch

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Start fills the list with the objects that there are now, and returns all later changes of objects of its kind. They
// end with the context, with Stop, or after an event of type Error.
func Start(ctx context.Context, api client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
	if err := api.List(ctx, list, opts...); err != nil {
		return nil, fmt.Errorf("list before watching: %w", err)
	}
	kind := list.DeepCopyObject().(client.ObjectList)
	changes, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
			var options client.ListOptions
			options.ApplyOptions(opts)
			options.Raw = &raw
			return api.Watch(ctx, kind, &options)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	return changes, nil
}

package feed

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

// listTimeout is how long a list may take, and then a watch to come as far, before the list is made again.
const listTimeout = 10 * time.Second

// pageSize bounds what is in memory of a list of which only versions are looked at.
const pageSize = 1000

// newestOf lists metadata without a resource version, so that the list has everything that was written before. It returns the newest
// version of any object.
func newestOf(client metadata.Interface) func(context.Context, schema.GroupVersionResource, metav1.ListOptions) (newest string, err error) {
	return func(ctx context.Context, resource schema.GroupVersionResource, options metav1.ListOptions) (newest string, err error) {
		for options.Limit = pageSize; ; {
			page, err := client.Resource(resource).List(ctx, options)
			if err != nil {
				return "", err
			}
			for i := range page.Items {
				newest = latest(newest, page.Items[i].ResourceVersion)
			}
			if options.Continue = page.Continue; options.Continue == "" {
				return newest, nil
			}
		}
	}
}

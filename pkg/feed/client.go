package feed

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// sequencesClient is a client for our API group. Custom resources are served as JSON, whatever core resources use.
func sequencesClient(config *rest.Config) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register kinds: %w", err)
	}
	config = rest.CopyConfig(config)
	config.APIPath = "/apis"
	config.GroupVersion = &v1alpha1.GroupVersion
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientFor(config)
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

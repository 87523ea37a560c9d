package feed

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

// Nobody places a pod while it carries a gate, so whoever lifts the gate can look first: a sequence that was created before the pod, and
// that the watch has not brought yet, holds it as well. All pods that are about to lose their gates share these looks.

// listTimeout is how long a list may take, and then a watch to come as far, before the list is made again.
const listTimeout = 10 * time.Second

// fresh returns the newest version of what there was when it was called. Those who ask at the same time share lists, of which the first may
// have begun too early for all but one of them.
func (f *Feed) fresh(ctx context.Context, what string, list func(context.Context) (newest string, err error)) (string, error) {
	for isFirst := true; ; isFirst = false {
		isOwn := false
		newest, err, _ := f.lists.Do(what, func() (any, error) {
			isOwn = true
			ctx, cancel := context.WithTimeout(ctx, listTimeout)
			defer cancel()
			return list(ctx)
		})
		switch {
		case isFirst && !isOwn:
			continue
		case err != nil:
			return "", fmt.Errorf("list %s: %w", what, err)
		}
		return newest.(string), nil
	}
}

// newestSequence returns the newest version of any sequence of a kind; empty if there is none, or no such kind.
func (f *Feed) newestSequence(ctx context.Context, kind *sequenceKind) (string, error) {
	version, err := f.newestOf(ctx, kind.resource, metav1.ListOptions{})
	if !apierrors.IsNotFound(err) {
		return version, err
	}
	// That the watch of definitions has brought none says nothing: it may be behind.
	isServed, err := kind.definition.Ask(ctx)
	if err == nil && isServed {
		err = fmt.Errorf("%s are not served, though their kind is installed", kind.resource.Resource)
	}
	return "", err
}

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

// CatchUp returns once the engine knows every PodSequence and ClusterPodSequence that there was when it was called, and what a Namespace
// said then.
func (f *Feed) CatchUp(ctx context.Context, namespace string) error {
	for _, kind := range f.sequences {
		newest, err := f.fresh(ctx, kind.resource.Resource, func(ctx context.Context) (string, error) { return f.newestSequence(ctx, kind) })
		if err != nil {
			return err
		}
		if err := kind.watch.await(ctx, newest); err != nil {
			return err
		}
	}
	newest, err := f.fresh(ctx, "namespace "+namespace, func(ctx context.Context) (string, error) {
		named := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, namespace).String()}
		return f.newestOf(ctx, corev1.SchemeGroupVersion.WithResource("namespaces"), named)
	})
	if err != nil {
		return err
	}
	return f.namespaces.await(ctx, newest)
}

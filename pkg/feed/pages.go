package feed

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// objectsAPage bounds what is in memory of a list whose objects are looked at one by one.
const objectsAPage = 500

// lister lists one page of a kind in a namespace, or in all if it is empty.
type lister func(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, error)

func listerOf(client rest.Interface, resource string) lister {
	return func(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, error) {
		return client.Get().Namespace(namespace).Resource(resource).VersionedParams(&options, metav1.ParameterCodec).Do(ctx).Get()
	}
}

// version returns how recent the kind is: everything that was written before the call is not newer.
func (l lister) version(ctx context.Context) (string, error) {
	page, err := l(ctx, metav1.NamespaceAll, metav1.ListOptions{Limit: 1})
	if err != nil {
		return "", err
	}
	list, err := meta.ListAccessor(page)
	if err != nil {
		return "", err
	}
	return list.GetResourceVersion(), nil
}

// pages lists objects a page at a time. All pages are as of one version. It ends early if each says so.
func pages[T any](
	ctx context.Context, list lister, namespace string, options metav1.ListOptions, each func(page []T, version string) (more bool, err error),
) error {
	options.Limit = objectsAPage
	for version := ""; ; {
		page, err := list(ctx, namespace, options)
		if err != nil {
			return err
		}
		header, err := meta.ListAccessor(page)
		if err != nil {
			return fmt.Errorf("read a list: %w", err)
		}
		if version == "" {
			version = header.GetResourceVersion()
		}
		objects := make([]T, 0, meta.LenList(page))
		err = meta.EachListItemWithAlloc(page, func(object runtime.Object) error {
			typed, err := as[T](object)
			objects = append(objects, typed)
			return err
		})
		if err != nil {
			return err
		}
		if more, err := each(objects, version); err != nil || !more {
			return err
		}
		if options.Continue = header.GetContinue(); options.Continue == "" {
			return nil
		}
		options.ResourceVersion, options.ResourceVersionMatch = "", "" // the token says so
	}
}

// notOlder returns list options that ask for this version or a later one.
func notOlder(version string) metav1.ListOptions {
	if version == "" {
		return metav1.ListOptions{}
	}
	return metav1.ListOptions{ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
}

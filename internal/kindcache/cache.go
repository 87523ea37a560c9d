// Package kindcache caches the objects of a kind that need not be installed. While it is not, there are no such objects: to
// ask for them is no error, and nothing is asked of the API server again and again. Once it is, a controller goes on as if
// it had been there from the beginning.
package kindcache

import (
	"context"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"example.com/podsequence/internal/definitions"
)

// listSuffix turns the name of a kind into that of its lists.
const listSuffix = "List"

// Cache holds the objects of one kind once its Source has been started. A read waits until it is known whether the kind is
// installed and, if it is, which objects there are.
type Cache struct {
	resource   schema.GroupVersionResource
	kind       schema.GroupVersionKind
	object     client.Object     // of the type that the cache keeps and is asked for
	list       client.ObjectList // of such objects
	scheme     *runtime.Scheme
	definition *definitions.Watcher
	newCache   func() (cache.Cache, error)

	lock    sync.Mutex
	known   bool          // whether reads can be answered
	objects client.Reader // nil if the kind is not installed
	changed chan struct{} // closed when known or objects change
}

var _ client.Reader = &Cache{}

// New returns a Cache of a namespaced kind, which watches nothing until its Source is started. The object is of the type
// that reads ask for, and says which kind it is if that is unstructured.
func New(mgr manager.Manager, resource schema.GroupVersionResource, object client.Object) (*Cache, error) {
	definition, err := definitions.New(mgr.GetConfig(), resource.GroupResource())
	if err != nil {
		return nil, err
	}
	c, err := newCache(resource, object, mgr.GetScheme(), definition)
	if err != nil {
		return nil, err
	}
	// What the API server calls the kind is known, so that it need not be discovered.
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.AddSpecific(c.kind, resource, resource.GroupVersion().WithResource(strings.ToLower(c.kind.Kind)), meta.RESTScopeNamespace)
	options := cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mapper,
		DefaultTransform: cache.TransformStripManagedFields(),
	}
	c.newCache = func() (cache.Cache, error) { return cache.New(mgr.GetConfig(), options) }
	return c, nil
}

func newCache(
	resource schema.GroupVersionResource, object client.Object, scheme *runtime.Scheme, definition *definitions.Watcher,
) (*Cache, error) {
	kind, err := apiutil.GVKForObject(object, scheme)
	if err != nil {
		return nil, fmt.Errorf("tell which kind is meant: %w", err)
	}
	list, err := newList(kind, object, scheme)
	if err != nil {
		return nil, err
	}
	return &Cache{
		resource: resource, kind: kind, object: object, list: list, scheme: scheme, definition: definition, changed: make(chan struct{}),
	}, nil
}

// newList returns an empty list of objects of this type.
func newList(kind schema.GroupVersionKind, object client.Object, scheme *runtime.Scheme) (client.ObjectList, error) {
	kind.Kind += listSuffix
	if _, ok := object.(runtime.Unstructured); ok {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		return list, nil
	}
	typed, err := scheme.New(kind)
	if err != nil {
		return nil, fmt.Errorf("make list: %w", err)
	}
	list, ok := typed.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("make list: %T is none", typed)
	}
	return list, nil
}

// OfOthers makes the cache one of a kind of another project: nobody is told how to install it. It returns the cache.
func (c *Cache) OfOthers() *Cache {
	c.definition.Status = nil
	return c
}

// Get is as that of any client.Reader.
func (c *Cache) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	objects, err := c.reader(ctx)
	switch {
	case err != nil:
		return err
	case objects == nil:
		return apierrors.NewNotFound(c.resource.GroupResource(), key.Name)
	}
	return objects.Get(ctx, key, object, options...)
}

// List is as that of any client.Reader.
func (c *Cache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	objects, err := c.reader(ctx)
	switch {
	case err != nil:
		return err
	case objects == nil:
		return meta.SetList(list, []runtime.Object{})
	}
	return objects.List(ctx, list, options...)
}

// reader waits until it is known what there is, and returns nil if the kind is not installed.
func (c *Cache) reader(ctx context.Context) (client.Reader, error) {
	for {
		c.lock.Lock()
		known, objects, changed := c.known, c.objects, c.changed
		c.lock.Unlock()
		if known {
			return objects, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait until it is known which %s there are: %w", c.resource.Resource, ctx.Err())
		}
	}
}

// set changes how reads are answered.
func (c *Cache) set(known bool, objects client.Reader) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.known, c.objects = known, objects
	close(c.changed)
	c.changed = make(chan struct{})
}

// Beside returns a reader of this kind from the cache, and of all others from the other reader.
func (c *Cache) Beside(other client.Reader) client.Reader { return besideReader{c, other} }

// Source returns the source of what happens to the objects, which also fills the cache. A cache has one source. It is in
// sync when reads can be answered, so that a controller whose kind is not installed starts, and has nothing to do.
func (c *Cache) Source(handler handler.EventHandler) source.SyncingSource {
	return &kindSource{cache: c, handler: handler, synced: make(chan struct{})}
}

type besideReader struct {
	cache *Cache
	other client.Reader
}

// Get implements client.Reader.
func (r besideReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return r.readerOf(object).Get(ctx, key, object, options...)
}

// List implements client.Reader.
func (r besideReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return r.readerOf(list).List(ctx, list, options...)
}

func (r besideReader) readerOf(object runtime.Object) client.Reader {
	kind, err := apiutil.GVKForObject(object, r.cache.scheme)
	kind.Kind = strings.TrimSuffix(kind.Kind, listSuffix)
	if err == nil && kind == r.cache.kind {
		return r.cache
	}
	return r.other
}

package kueue

import (
	"context"
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"example.com/podsequence/internal/fairqueue"
	"example.com/podsequence/internal/kindcache"
)

const (
	controllerName = "kueue"
	// reporter is who events say they come from.
	reporter = "podsequence-controller"
	// workers is how many namespaces are answered at once, so that a slow one does not keep the others waiting.
	workers = 4
)

// Options are what the controller needs to know.
type Options struct {
	// Sequences says whose turn it is.
	Sequences Sequences
	// Known is closed when Sequences knows all PodSequences and pods for the first time.
	Known <-chan struct{}
	// Changes receives the namespaces in which it may be the turn of other pods.
	Changes *Changes
}

// Add adds the controller to the manager. Where Kueue is not installed it does nothing, and it begins when Kueue is.
func Add(mgr manager.Manager, options Options) error {
	workloads, err := newCache(mgr, WorkloadResource, WorkloadKind)
	if err != nil {
		return err
	}
	checks, err := newCache(mgr, AdmissionCheckResource, AdmissionCheckKind)
	if err != nil {
		return err
	}
	r := &reconciler{
		workloads: workloads, checks: checks, writer: mgr.GetClient(), recorder: mgr.GetEventRecorder(reporter),
		clock: clock.RealClock{}, sequences: options.Sequences,
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		WatchesRawSource(workloads.Source(handler.EnqueueRequestsFromMapFunc(inNamespace))).
		WatchesRawSource(checks.Source(handler.EnqueueRequestsFromMapFunc(r.asked))).
		WatchesRawSource(options.Changes.source(options.Known)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			NewQueue:                fairqueue.By(func(r reconcile.Request) string { return r.Namespace }),
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](100*time.Millisecond, 30*time.Second),
			// That something cannot be listed is no reason to end the other controllers' process.
			CacheSyncTimeout: math.MaxInt64,
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("make controller: %w", err)
	}
	return nil
}

func newCache(mgr manager.Manager, resource schema.GroupVersionResource, kind schema.GroupVersionKind) (*kindcache.Cache, error) {
	cache, err := kindcache.New(mgr, resource, newObject(kind))
	if err != nil {
		return nil, fmt.Errorf("make cache of %s: %w", resource.Resource, err)
	}
	return cache.OfOthers(), nil
}

func newObject(kind schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}

func newList(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	kind.Kind += "List"
	list.SetGroupVersionKind(kind)
	return list
}

// inNamespace asks for the namespace of a Workload.
func inNamespace(_ context.Context, object client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace()}}}
}

// Changes are namespaces in which it may be the turn of other pods.
type Changes struct {
	namespaces workqueue.TypedInterface[string]
}

// NewChanges returns Changes that remember what they get until the controller runs.
func NewChanges() *Changes { return &Changes{workqueue.NewTyped[string]()} }

// Changed tells of a namespace. It does not block.
func (c *Changes) Changed(namespace string) { c.namespaces.Add(namespace) }

// source asks for each namespace, not on the time of who calls Changed. The controller does not begin before all sequences are known.
func (c *Changes) source(known <-chan struct{}) source.SyncingSource {
	return changeSource{source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		context.AfterFunc(ctx, c.namespaces.ShutDown)
		go func() {
			for {
				namespace, ended := c.namespaces.Get()
				if ended {
					return
				}
				queue.Add(reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace}})
				c.namespaces.Done(namespace)
			}
		}()
		return nil
	}), known}
}

type changeSource struct {
	source.Source
	known <-chan struct{}
}

// WaitForSync implements source.SyncingSource. It does not fail.
func (s changeSource) WaitForSync(ctx context.Context) error {
	select {
	case <-s.known:
	case <-ctx.Done():
	}
	return nil
}

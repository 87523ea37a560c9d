package deploymentcoordination

import (
	"context"
	"fmt"
	"math"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/pkg/kindcache"
)

const (
	controllerName = "deploymentcoordination"
	// reporter is who events say they come from.
	reporter = "podsequence-controller"
)

// Options are what the other controllers have to say.
type Options struct {
	// Holder says what holds pods. Nil means that nothing does.
	Holder Holder
	// Holds has the namespaces in which what holds pods may have changed. It goes with Holder.
	Holds *Holds
}

// Add adds the controller to the manager. It does nothing, and watches nothing, until the manager leads.
func Add(mgr manager.Manager, options Options) error {
	coordinations, err := kindcache.New(mgr, v1.DeploymentCoordinationResource, &v1.DeploymentCoordination{})
	if err != nil {
		return fmt.Errorf("make cache of DeploymentCoordinations: %w", err)
	}
	r := &reconciler{
		cached:   coordinations.Beside(mgr.GetCache()),
		live:     mgr.GetAPIReader(),
		writer:   mgr.GetClient(),
		recorder: mgr.GetEventRecorder(reporter),
		clock:    clock.RealClock{},
		written:  written{},
		holder:   options.Holder,
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		// One that changes may make room for one that overlaps.
		WatchesRawSource(coordinations.Source(handler.EnqueueRequestsFromMapFunc(r.withSiblings))).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(r.ofDeployment)).
		// A rollout is over when the old ReplicaSets are empty, and their events may come last.
		Watches(&appsv1.ReplicaSet{}, handler.EnqueueRequestsFromMapFunc(r.ofReplicaSet)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 1, // see reconciler
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				100*time.Millisecond, 30*time.Second),
			// That something cannot be listed is no reason to end the other controllers' process.
			CacheSyncTimeout: math.MaxInt64,
		})
	if options.Holds != nil {
		b = b.WatchesRawSource(options.Holds.source(r.inNamespace))
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("make controller: %w", err)
	}
	return nil
}

// inNamespace asks for all coordinations of a namespace. Whom an object concerns is worked out there: it may concern one
// that does not match it any more.
func (r *reconciler) inNamespace(ctx context.Context, namespace string) []reconcile.Request {
	var list v1.DeploymentCoordinationList
	if err := r.cached.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to list DeploymentCoordinations", "namespace", namespace)
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

func (r *reconciler) withSiblings(ctx context.Context, object client.Object) []reconcile.Request {
	own := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)} // it may be gone
	return append(r.inNamespace(ctx, object.GetNamespace()), own)
}

// ofDeployment also asks for the coordination whose mark the Deployment carries, in case there is none of that name.
func (r *reconciler) ofDeployment(ctx context.Context, object client.Object) []reconcile.Request {
	requests := r.inNamespace(ctx, object.GetNamespace())
	if name := object.GetAnnotations()[v1.PausedByAnnotation]; name != "" {
		key := types.NamespacedName{Namespace: object.GetNamespace(), Name: name}
		requests = append(requests, reconcile.Request{NamespacedName: key})
	}
	return requests
}

func (r *reconciler) ofReplicaSet(ctx context.Context, object client.Object) []reconcile.Request {
	if metav1.GetControllerOfNoCopy(object) == nil {
		return nil
	}
	return r.inNamespace(ctx, object.GetNamespace())
}

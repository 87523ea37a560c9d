package sequentialjob

import (
	"context"
	"fmt"
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/internal/kindcache"
	"example.com/podsequence/internal/statusbudget"
	"example.com/podsequence/internal/takeover"
)

const (
	controllerName = "sequentialjob"
	// reporter is who events say they come from.
	reporter = "podsequence-controller"
	// workers is how many objects are worked on at once, so that a slow write does not keep the others waiting.
	workers = 8
)

// Add adds the controller to the manager, whose scheme must know batch/v1 and our kinds. What the budget bounds
// includes statuses that say that the API server refuses a Job. It may be nil. Waits and timeouts count by the clock.
func Add(mgr manager.Manager, now clock.PassiveClock, budget *statusbudget.Budget) error {
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &batchv1.Job{}, ownerIndex, indexOwner)
	if err != nil {
		return fmt.Errorf("index Jobs by owner: %w", err)
	}
	// Undecoded, so that one object that cannot be decoded does not keep all others from being listed.
	objects, err := kindcache.New(mgr, v1alpha1.SequentialJobResource, newUnstructured())
	if err != nil {
		return fmt.Errorf("make cache of SequentialJobs: %w", err)
	}
	pods, err := newPodCache(mgr)
	if err != nil {
		return err
	}
	r := &reconciler{
		cache: objects.Beside(mgr.GetCache()), pods: pods, notes: newNotes(), live: mgr.GetAPIReader(), writer: mgr.GetClient(),
		recorder: mgr.GetEventRecorder(reporter), clock: now, written: newWritten(), checked: newChecked(), former: takeover.NewFinalizers(v1alpha1.FormerFinalizer),
	}
	r.attempts = budget.For(func(key types.NamespacedName) { r.refusals.wake(key, 0) })
	newQueue := r.queueOf()
	err = builder.ControllerManagedBy(mgr).
		Named(controllerName).
		WatchesRawSource(objects.Source(&handler.EnqueueRequestForObject{})).
		Watches(&batchv1.Job{}, handler.EnqueueRequestsFromMapFunc(r.concernedBy)).
		Watches(&batchv1.Job{}, handler.Funcs{DeleteFunc: r.jobIsGone}).
		WatchesRawSource(pods.changes(r.concernedByPod)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			NewQueue:                newQueue,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				100*time.Millisecond, 30*time.Second),
			// That something cannot be listed is no reason to end the other controllers' process.
			CacheSyncTimeout: math.MaxInt64,
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("make controller: %w", err)
	}
	return nil
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func requestFor(namespace, name string) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

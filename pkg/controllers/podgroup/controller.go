package podgroup

import (
	"context"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"example.com/podsequence/internal/fairqueue"
	"example.com/podsequence/pkg/controllers/podgroup/podgroupwatch"
)

const (
	controllerName = "podgroup"
	// reporter is who events say they come from.
	reporter = "podsequence-controller"
	// workers is how many groups are worked on at once, so that a large one does not keep the others waiting.
	workers = 4
)

// newQueue makes the queue of groups, which serves namespaces in turn.
var newQueue = fairqueue.By(func(r reconcile.Request) string { return r.Namespace })

// Add adds the controller to the manager. It watches nothing, and does nothing, until the manager leads.
func Add(mgr manager.Manager, options Options) error {
	// Pods have caches of their own: of the others nothing is kept, and of these only what matters.
	pods, err := newPodCache(mgr, options, options.NameLabel)
	if err != nil {
		return err
	}
	if err := options.indexPods(context.Background(), pods); err != nil {
		return err
	}
	leavers, err := newPodCache(mgr, options, "!"+options.NameLabel+","+options.ReadyLabel+"="+ReadyValue)
	if err != nil {
		return err
	}
	watcher, err := podgroupwatch.New(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("make watcher of PodGroups: %w", err)
	}
	labeller := newLabeller(options, mgr.GetClient(), pods, leavers)
	if err := mgr.Add(labeller); err != nil {
		return fmt.Errorf("add writer of labels: %w", err)
	}
	r := &reconciler{
		options: options, pods: pods, workloads: mgr.GetCache(), podGroups: watcher,
		live: mgr.GetAPIReader(), labels: labeller, recorder: mgr.GetEventRecorder(reporter),
		clock: clock.RealClock{}, memories: map[types.NamespacedName]*memory{},
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		WatchesRawSource(source.Kind[client.Object](pods, &corev1.Pod{}, r.podHandler())).
		WatchesRawSource(source.Kind[client.Object](leavers, &corev1.Pod{}, r.leaverHandler())).
		WatchesRawSource(source.Func(func(ctx context.Context, q queue) error {
			go watcher.Run(ctx, r.podGroupHandler(q))
			return nil
		}))
	for _, kind := range workloadKinds {
		b.WatchesRawSource(&indexed{
			SyncingSource: source.Kind(mgr.GetCache(), kind.object(), r.workloadHandler()),
			index: func(ctx context.Context) error {
				return options.indexWorkloads(ctx, mgr.GetFieldIndexer(), kind.object())
			},
		})
	}
	err = b.WithOptions(controller.Options{
		MaxConcurrentReconciles: workers,
		NewQueue:                newQueue,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
			100*time.Millisecond, 30*time.Second),
		// That something cannot be listed is no reason to end the other controllers' process.
		CacheSyncTimeout: math.MaxInt64,
	}).Complete(r)
	if err != nil {
		return fmt.Errorf("make controller: %w", err)
	}
	return nil
}

// podCache is a cache that a standby does without.
type podCache struct{ cache.Cache }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (podCache) NeedLeaderElection() bool { return true }

func newPodCache(mgr manager.Manager, options Options, selector string) (cache.Cache, error) {
	selected, err := labels.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("select pods by label: %w", err)
	}
	pods, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: selected, Transform: options.strip}},
	})
	if err != nil {
		return nil, fmt.Errorf("make cache of pods: %w", err)
	}
	if err := mgr.Add(podCache{pods}); err != nil {
		return nil, fmt.Errorf("add cache of pods: %w", err)
	}
	return pods, nil
}

// indexed makes an index before its watch starts, and not sooner: to make one is to begin to watch, which a standby does
// not do.
type indexed struct {
	source.SyncingSource
	index func(context.Context) error
}

// Start implements source.Source.
func (s *indexed) Start(ctx context.Context, q queue) error {
	if err := s.index(ctx); err != nil {
		return err
	}
	return s.SyncingSource.Start(ctx, q)
}

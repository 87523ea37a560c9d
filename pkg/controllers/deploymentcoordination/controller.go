package deploymentcoordination

import (
	"cmp"
	"fmt"
	"math"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/internal/fairqueue"
	"example.com/podsequence/internal/kindcache"
	"example.com/podsequence/internal/statusbudget"
)

const (
	controllerName = "deploymentcoordination"
	// reporter is who events say they come from.
	reporter = "podsequence-controller"
)

// workers is how many namespaces are worked on at once, so that a slow write does not keep the others waiting.
const workers = 4

// DefaultMaxCoordinations is how many coordinations of a namespace count by default.
const DefaultMaxCoordinations = 100

// Options are what the operator of the cluster decides, and what the other controllers have to say.
type Options struct {
	// Clock is what waits and timeouts count by.
	Clock clock.PassiveClock
	// MaxCoordinations is how many coordinations of a namespace count; 0 for DefaultMaxCoordinations.
	MaxCoordinations int
	// StatusWrites bounds what is written for people. A status of many Deployments counts as several, see writeCost.
	StatusWrites *statusbudget.Budget
	// Holder says what holds pods. Nil means that nothing does.
	Holder Holder
	// Holds receives the namespaces in which what holds pods may have changed. It goes with Holder.
	Holds *HoldChanges
	// HoldsKnown is closed when it is known for the first time what holds pods: before that, nothing seems to. It goes with Holder.
	HoldsKnown <-chan struct{}
}

// Add adds the controller to the manager. It does nothing, and watches nothing, until the manager leads.
func Add(mgr manager.Manager, options Options) error {
	coordinations, err := kindcache.New(mgr, v1.DeploymentCoordinationResource, &v1.DeploymentCoordination{})
	if err != nil {
		return fmt.Errorf("make cache of DeploymentCoordinations: %w", err)
	}
	r := &reconciler{
		cached:     coordinations.Beside(mgr.GetCache()),
		live:       mgr.GetAPIReader(),
		writer:     mgr.GetClient(),
		recorder:   mgr.GetEventRecorder(reporter),
		clock:      options.Clock,
		holder:     options.Holder,
		limit:      cmp.Or(options.MaxCoordinations, DefaultMaxCoordinations),
		namespaces: newNamespaces(),
	}
	var q queue
	r.turns = options.StatusWrites.For(func(coordination types.NamespacedName) { r.mayWrite(q, coordination) })
	b := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		// One that changes may make room for one that overlaps.
		WatchesRawSource(coordinations.Source(r.handler(ofCoordination))).
		Watches(&appsv1.Deployment{}, r.handler(ofDeployment)).
		// A rollout is over when the old ReplicaSets are empty, and their events may come last.
		Watches(&appsv1.ReplicaSet{}, r.handler(ofReplicaSet)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			NewQueue: func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) queue {
				q = newQueue(name, limiter)
				return q
			},
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				100*time.Millisecond, 30*time.Second),
			// That something cannot be listed is no reason to end the other controllers' process.
			CacheSyncTimeout: math.MaxInt64,
		})
	if options.Holds != nil {
		// One that begins before it knows what holds pods gives a turn to a Deployment that cannot use it.
		b = b.WatchesRawSource(holdSource{options.Holds.source(r.inNamespace), options.HoldsKnown, startPatience})
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("make controller: %w", err)
	}
	return nil
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// newQueue makes the queue of namespaces. Each is in it once, however much happens there.
var newQueue = fairqueue.By(func(r reconcile.Request) string { return r.Namespace })

// matters says of an object whether it concerns its namespace: always, or if there are coordinations.
type matters func(client.Object) (always, otherwise bool)

func ofCoordination(client.Object) (always, otherwise bool) { return true, true }

// ofDeployment also looks at a Deployment that carries a mark, in case there is no coordination any more.
func ofDeployment(object client.Object) (always, otherwise bool) {
	return object.GetAnnotations()[v1.PausedByAnnotation] != "", true
}

func ofReplicaSet(object client.Object) (always, otherwise bool) {
	return false, metav1.GetControllerOfNoCopy(object) != nil
}

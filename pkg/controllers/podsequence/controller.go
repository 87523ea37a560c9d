package podsequence

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/fairqueue"
	"example.com/podsequence/internal/statusbudget"
	"example.com/podsequence/internal/takeover"
	"example.com/podsequence/pkg/controllers/podsequence/objectwatch"
	"example.com/podsequence/pkg/feed"
	"example.com/podsequence/pkg/record"
	"example.com/podsequence/pkg/sequence"
)

const (
	controllerName = "podsequence"
	// reporter is who events say they come from.
	reporter = "podsequence-controller"
	// statusWriters is how many statuses are written at once, so that a slow one does not keep the others waiting.
	statusWriters = 4
)

// Options are what the operator of the cluster decides.
type Options struct {
	// SchedulerNames are the profiles of our scheduler. It lifts the gates of their pods itself. If there are none, no nodes
	// are watched, and sequences of scope Node are reported as unsupported.
	SchedulerNames []string
	// GatePrefixes are the beginnings of gate names that may be lifted.
	GatePrefixes []string
	// InstallationNamespace is where PodSequence itself runs.
	InstallationNamespace string
	// UnprobedReadySeconds is how long a pod without a readiness probe must have been Ready before it counts as ready.
	UnprobedReadySeconds int32
	// ReleaseGates reports whether this program lifts the gates of all other schedulers' pods.
	ReleaseGates bool
	// ExplainWaits writes into those pods what they wait for, and an event after ten seconds. It does nothing without ReleaseGates.
	ExplainWaits bool
	// StatusWrites bounds what is written for people. A status of many groups or nodes counts as several, see writeCost.
	StatusWrites *statusbudget.Budget
	// Clock is what waits and timeouts count by.
	Clock clock.WithTicker
	// Stamps is what times are written by, see servertime.Clock.
	Stamps clock.Clock
	// HoldsChanged, if set, is called with each namespace in which what is held may have changed. It must not block.
	HoldsChanged func(namespace string)
}

func (o Options) clusterScopeOnly() bool { return len(o.SchedulerNames) == 0 }

// recordDelay is how long the scheduler has to record a pass before this program does, so that not both look at the same. Without our
// scheduler there is nobody to wait for.
func (o Options) recordDelay() time.Duration {
	if len(o.SchedulerNames) == 0 {
		return 0
	}
	return time.Second
}

// Add adds the controller to the manager. It does nothing, and watches nothing, until the manager leads. What it returns
// says what the sequences hold.
func Add(mgr manager.Manager, options Options) (*Holds, error) {
	engine := sequence.NewEngine(sequence.Config{
		SchedulerNames:        options.SchedulerNames,
		GatePrefixes:          options.GatePrefixes,
		InstallationNamespace: options.InstallationNamespace,
		ClusterScopeOnly:      options.clusterScopeOnly(),
		UnprobedReady:         time.Duration(options.UnprobedReadySeconds) * time.Second,
	})
	d := &dispatcher{ours: sets.New(options.SchedulerNames...)}
	if options.HoldsChanged != nil {
		d.targets = newTargets(engine, options.HoldsChanged)
	}
	config := coreConfig(mgr)
	known := make(chan struct{})
	source, err := feed.New(config, engine, feed.Options{
		Sink: d.dispatch, Opened: sync.OnceFunc(func() { close(known) }), ClusterScopeOnly: options.clusterScopeOnly(),
		Clock: options.Clock,
	})
	if err != nil {
		return nil, fmt.Errorf("make feed: %w", err)
	}
	d.feed = source
	recorder, err := record.New(mgr.GetConfig(), engine, record.Options{Clock: options.Stamps, Recorded: source.Recorded, Delay: options.recordDelay()})
	if err != nil {
		return nil, fmt.Errorf("make recorder of passes: %w", err)
	}
	d.recorder = recorder
	if options.ReleaseGates {
		if err := d.addPodWriter(mgr, config, engine, source, recorder, options); err != nil {
			return nil, err
		}
	}
	objects, err := objectwatch.New(mgr.GetConfig(), options.Stamps, d.again)
	if err != nil {
		return nil, fmt.Errorf("make watcher of objects: %w", err)
	}
	d.objects = objects

	reconciler, err := controller.New(controllerName, mgr, controller.Options{
		MaxConcurrentReconciles: statusWriters,
		NewQueue:                newStatusQueue,
		// A retry that came within the write interval would be put off by the pacer, and its failures be forgotten.
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](2*writeInterval, 30*time.Second),
		Reconciler: &statusReconciler{
			engine:        engine,
			statuses:      mgr.GetClient().Status(),
			recorder:      mgr.GetEventRecorder(reporter),
			clock:         options.Stamps,
			pacer:         newPacer(clock.RealClock{}, options.StatusWrites.For(d.again)),
			former:        takeover.NewFinalizers(v1alpha1.FormerFinalizer),
			patcher:       mgr.GetClient(),
			objects:       objects,
			circles:       newCircles(d.again),
			whyUnrecorded: recorder.Why,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make controller: %w", err)
	}
	if err := reconciler.Watch(d); err != nil {
		return nil, fmt.Errorf("watch feed: %w", err)
	}
	if err := mgr.AddReadyzCheck(controllerName, readyz(mgr.Elected(), source.Why)); err != nil {
		return nil, fmt.Errorf("add readiness check: %w", err)
	}
	return &Holds{engine, source.Why, known, source.CatchUp}, nil
}

// newStatusQueue makes the queue of statuses to look at: many sequences of one namespace do not delay those of another.
var newStatusQueue = fairqueue.By(func(r reconcile.Request) string { return r.Namespace })

// coreConfig is the manager's configuration for clients of core resources, which are cheaper to decode from protobuf.
func coreConfig(mgr manager.Manager) *rest.Config {
	config := rest.CopyConfig(mgr.GetConfig())
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config
}

// readyz says that the controller is ready when there is nothing more that it must know. A standby is ready too: it
// watches nothing yet, and would otherwise hold up every rolling update.
func readyz(elected <-chan struct{}, why func() string) healthz.Checker {
	return func(*http.Request) error {
		select {
		case <-elected:
		default:
			return nil
		}
		if why := why(); why != "" {
			return errors.New(why)
		}
		return nil
	}
}

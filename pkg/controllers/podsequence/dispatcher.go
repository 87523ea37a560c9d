package podsequence

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"example.com/podsequence/pkg/feed"
	"example.com/podsequence/pkg/podwriter"
	"example.com/podsequence/pkg/record"
	"example.com/podsequence/pkg/sequence"
)

// dispatcher passes on what the feed says changed: sequences to the queue of the status reconciler, pods to the writer.
// It is the reconciler's only source.
//
// Nothing reaches it before the engine knows all pods and all sequences: the feed sees to that. So everything that is
// asked for here may be done at once.
type dispatcher struct {
	feed     runner
	recorder recorder
	// objects watches what sequences wait for, and asks for them again when it is not as it was.
	objects runner
	// queue is nil until Start.
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]

	// ours are the schedulers that lift the gates of their pods themselves.
	ours sets.Set[string]
	// writer is nil when no gates are to be lifted here.
	writer podRequests
	// pods is nil when nothing is to be explained here.
	pods *waitingPods
	// targets is nil when it is not asked what is held.
	targets *targets
}

var (
	_ source.Source = &dispatcher{}
	_ podRequests   = &podwriter.Writer{}
)

// runner works until its context ends.
type runner interface {
	Run(ctx context.Context)
}

// recorder records passes. A record.Recorder is one.
type recorder interface {
	runner
	Record(sequence types.NamespacedName)
}

// podRequests is what can be asked of a podwriter.Writer.
type podRequests interface {
	Lift(pod types.NamespacedName)
	Explain(pod types.NamespacedName)
	ExplainAll(sequence types.NamespacedName)
}

// Start feeds the engine until the context ends. The reconciler calls it once, when this process has come to lead.
func (d *dispatcher) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	d.queue = queue
	if d.pods != nil {
		d.pods.start(ctx)
	}
	ctx = withName(ctx)
	go d.feed.Run(ctx)
	go d.recorder.Run(ctx)
	go d.objects.Run(ctx)
	return nil
}

// withName names the controller in what is logged.
func withName(ctx context.Context) context.Context {
	return klog.NewContext(ctx, klog.LoggerWithName(klog.FromContext(ctx), controllerName))
}

// again makes the reconciler look at a sequence again.
func (d *dispatcher) again(key types.NamespacedName) {
	d.queue.Add(reconcile.Request{NamespacedName: key})
}

// dispatch is the sink of the feed.
func (d *dispatcher) dispatch(changes sequence.Changes) {
	for key := range changes.Sequences {
		d.again(key)
	}
	if d.targets != nil {
		d.targets.tell(changes.Sequences, changes.Requiring...)
	}
	for _, key := range changes.Ripe {
		d.recorder.Record(key)
	}
	if d.writer == nil {
		return
	}
	for i := range changes.Released {
		pod := &changes.Released[i]
		if d.ours.Has(pod.SchedulerName) {
			continue
		}
		key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
		if len(pod.Gates) > 0 { // else it was held by nobody
			d.writer.Lift(key)
		}
		if pod.StillGated {
			d.writer.Explain(key)
		}
	}
	for _, pod := range changes.Held {
		d.writer.Explain(pod)
	}
	for _, key := range changes.Advanced {
		d.writer.ExplainAll(key)
	}
}

// addPodWriter adds what writes to pods to the manager.
func (d *dispatcher) addPodWriter(
	mgr manager.Manager, config *rest.Config, engine *sequence.Engine, source *feed.Feed, recorder *record.Recorder,
	options Options,
) error {
	client, err := kubernetes.NewForConfigAndClient(config, mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("make client for pods: %w", err)
	}
	pods := newWaitingPods(client, options)
	writerOptions := podwriter.Options{
		CatchUp:  source.CatchUp,
		Unknown:  func(pod *corev1.Pod) string { return record.Explain(engine.Decide(pod), recorder.Why) },
		Reporter: reporter, Budget: options.StatusWrites,
	}
	if options.ExplainWaits {
		d.pods, writerOptions.Explains = pods, pods.isOurs
	}
	writer := podwriter.New(client, pods.get, engine, writerOptions)
	d.writer = writer
	// The manager waits until the last write is done.
	run := func(ctx context.Context) error {
		writer.Run(withName(ctx))
		return nil
	}
	if err := mgr.Add(manager.RunnableFunc(run)); err != nil {
		return fmt.Errorf("add pod writer: %w", err)
	}
	return nil
}

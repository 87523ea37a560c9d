package podsequence

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"example.com/podsequence/internal/servertime"
	"example.com/podsequence/pkg/feed"
	"example.com/podsequence/pkg/podwriter"
	"example.com/podsequence/pkg/record"
	"example.com/podsequence/pkg/sequence"
)

// holder holds the pods of one scheduler, whatever the number of its profiles: it answers for them from the engine, and
// releases those that the engine says may be scheduled.
type holder struct {
	args   Args
	handle fwk.Handle
	pods   listersv1.PodLister
	clock  *servertime.Clock

	// profiles are the scheduler names that this holder acts for. They are complete before run begins: the framework
	// makes all profiles before it starts any informer.
	profiles sets.Set[string]

	// binds holds one entry for each pod that sequences released and that is being bound.
	binds chan struct{}

	engine   *sequence.Engine
	feed     source
	recorder recorder
	writer   *podwriter.Writer
}

// recorder records passes. A record.Recorder is one.
type recorder interface {
	Record(sequence types.NamespacedName)
	Why(sequence types.NamespacedName) string
}

// source says how much of what the API server has the engine knows. A feed.Feed is one.
type source interface {
	// Synced reports whether the engine knows all it must know to release any pod, and Why what is missing.
	Synced() bool
	Why() string
}

// holders are the holders of this process, by the informer factory that all profiles of a scheduler share.
var (
	holdersMu sync.Mutex
	holders   = map[informers.SharedInformerFactory]*holder{}
)

// holderFor returns the scheduler's holder, and starts it when the first profile asks.
func holderFor(ctx context.Context, handle fwk.Handle, args Args) (*holder, error) {
	holdersMu.Lock()
	defer holdersMu.Unlock()

	factory := handle.SharedInformerFactory()
	if h := holders[factory]; h != nil {
		if !reflect.DeepEqual(h.args, args) {
			return nil, fmt.Errorf("arguments of plugin %s in profile %q differ from those of another profile: use the same arguments in all profiles",
				Name, handle.ProfileName())
		}
		h.profiles.Insert(handle.ProfileName())
		h.engine.AddScheduler(handle.ProfileName())
		return h, nil
	}

	pods := factory.Core().V1().Pods()
	h := newHolder(args, pods.Lister(), handle.ProfileName())
	h.handle = handle
	logger := klog.LoggerWithName(klog.FromContext(ctx), Name)
	run, err := h.connect(logger)
	if err != nil {
		return nil, err
	}
	holders[factory] = h
	nodesSynced, podsSynced := factory.Core().V1().Nodes().Informer().HasSyncedChecker().Done(), pods.Informer().HasSyncedChecker().Done()
	go func() {
		run(klog.NewContext(ctx, logger), nodesSynced, podsSynced)
		holdersMu.Lock()
		defer holdersMu.Unlock()
		delete(holders, factory)
	}()
	return h, nil
}

func newHolder(args Args, pods listersv1.PodLister, profile string) *holder {
	return &holder{
		args: args, pods: pods, clock: servertime.New(klog.Background()), profiles: sets.New(profile), binds: make(chan struct{}, maxBindsAtOnce),
		engine: sequence.NewEngine(sequence.Config{
			SchedulerNames: []string{profile}, GatePrefixes: args.GatePrefixes, InstallationNamespace: args.InstallationNamespace,
			UnprobedReady: args.unprobedReady(),
		}),
	}
}

// connect makes what watches and writes, and returns what makes it work until the context ends. It begins to watch when the framework has
// begun to, which the nodes show before the pods do, and to write when the framework's own pods are in. A standby that waits to lead does
// neither, because its informers wait too.
func (h *holder) connect(logger klog.Logger) (run func(ctx context.Context, nodesSynced, podsSynced <-chan struct{}), err error) {
	config := rest.CopyConfig(h.handle.KubeConfig())
	h.clock.Wrap(config)
	source, err := feed.New(config, h.engine, feed.Options{Clock: h.clock, Sink: func(changes sequence.Changes) { h.apply(logger, changes) }})
	if err != nil {
		return nil, fmt.Errorf("prepare to watch PodSequences: %w", err)
	}
	recorder, err := record.New(config, h.engine, record.Options{Clock: h.clock.Stamps(), Recorded: source.Recorded})
	if err != nil {
		return nil, err
	}
	options := h.writerOptions()
	options.CatchUp = source.CatchUp
	h.feed, h.recorder, h.writer = source, recorder, podwriter.New(h.handle.ClientSet(), h.getPod, h.engine, options)
	return func(ctx context.Context, nodesSynced, podsSynced <-chan struct{}) {
		if !await(ctx, nodesSynced) {
			return
		}
		var running sync.WaitGroup
		running.Go(func() {
			if await(ctx, podsSynced) {
				h.writer.Run(ctx)
			}
		})
		running.Go(func() { recorder.Run(ctx) })
		source.Run(ctx)
		running.Wait()
	}, nil
}

// await reports whether the channel is closed before the context ends.
func await(ctx context.Context, closed <-chan struct{}) bool {
	select {
	case <-closed:
		return true
	case <-ctx.Done():
		return false
	}
}

func unschedulable(message string) *fwk.Status {
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, message)
}

// apply activates the pods that are released, and asks the writer to explain to those that must wait why they do. The engine's lock is
// not held here: activation takes the queue's lock, under which the engine is asked.
func (h *holder) apply(logger klog.Logger, changes sequence.Changes) {
	ready := map[types.UID]types.NamespacedName{}
	for _, r := range changes.Released {
		if !h.profiles.Has(r.SchedulerName) {
			continue
		}
		key := types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
		if r.StillGated {
			h.writer.Explain(key)
		}
		if len(r.Gates) > 0 {
			h.writer.Lift(key)
		}
		// Also one with gates: the queue may know already that somebody else has lifted them. Otherwise SchedulingGates holds it.
		ready[r.UID] = key
	}
	h.activate(logger, ready)
	for _, pod := range changes.Held {
		h.stopBinding(pod)
		h.writer.Explain(pod)
	}
	for _, pod := range changes.Nominated {
		h.writer.ClearNomination(pod)
	}
	for _, key := range changes.Advanced {
		h.writer.ExplainAll(key)
	}
	for _, key := range changes.Ripe {
		h.recorder.Record(key)
	}
}

// activate puts pods into the queue. One that is not in the cache is not in the queue either: it will meet the engine when
// it comes.
func (h *holder) activate(logger klog.Logger, ready map[types.UID]types.NamespacedName) {
	pods := map[string]*v1.Pod{}
	for uid, key := range ready {
		if pod, err := h.pods.Pods(key.Namespace).Get(key.Name); err == nil && pod.UID == uid {
			pods[key.String()] = pod
		}
	}
	if len(pods) > 0 {
		logger.V(4).Info("Activating released pods", "count", len(pods))
		h.handle.Activate(logger, pods)
	}
}

// stopBinding ends what comes before the binding of a pod that must wait: Permit may wait for others and PreBind for volumes, for minutes,
// and the scheduler counts the pod on its node meanwhile. Bind would refuse it in the end. The pod goes to back-off, or to the
// unschedulable ones, and what it had reserved is given back. So is the room that the scheduler keeps for it by a nomination which it
// could not write: as no event brings it, none takes it away.
func (h *holder) stopBinding(key types.NamespacedName) {
	pod, err := h.pods.Pods(key.Namespace).Get(key.Name)
	if err != nil || !h.profiles.Has(pod.Spec.SchedulerName) {
		return
	}
	if pod.Status.NominatedNodeName == "" {
		h.handle.DeleteNominatedPodIfExists(pod)
	}
	h.handle.RejectWaitingPod(pod.UID)
	if binding := h.handle.GetPodInPreBind(pod.UID); binding != nil {
		binding.CancelPod("the pod must wait for its turn in a PodSequence again")
	}
}

// requeue returns a pod to the queue that is rejected in its scheduling cycle; it comes back after back-off at most. While the
// pod is in its cycle, the queue keeps the activation as an event for it. Without such an event, a pod that the plugin rejected
// would stay among the unschedulable ones until some node opens for it, or for five minutes. A status of code Error would return
// it as well, but would report a failure of the scheduler to people, and the pod would have to wait out its back-off even if
// nothing else is in the queue.
func (h *holder) requeue(logger klog.Logger, pod *v1.Pod) {
	h.handle.Activate(logger, map[string]*v1.Pod{keyOf(pod).String(): pod})
}

func (h *holder) getPod(_ context.Context, key types.NamespacedName) (*v1.Pod, error) {
	return h.pods.Pods(key.Namespace).Get(key.Name)
}

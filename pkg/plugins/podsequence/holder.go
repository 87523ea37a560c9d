package podsequence

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

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

// decide answers for one pod. It waits for no event, so what it says of a pod that a sequence holds is not what the pod waits
// for: see why. A pod of PodSequence itself is not asked about: without it, what the others wait for may never become known. Nor is one that
// has its node, which the scheduler may evict others for if it is resized (InPlacePodVerticalScalingSchedulerPreemption).
func (h *holder) decide(pod *v1.Pod) (sequence.Verdict, *fwk.Status) {
	if pod.Spec.NodeName != "" || h.args.isOwn(pod) {
		return sequence.Verdict{}, nil
	}
	if !h.feed.Synced() {
		// Asked again after being remembered: what completes in between reports either to the one or to the other.
		h.engine.ReportWhenSeen(pod)
		if why := h.feed.Why(); why != "" {
			h.writer.Explain(keyOf(pod))
			return sequence.Verdict{Held: true}, unschedulable(waitingFor + why)
		}
	}
	verdict := h.engine.Verdict(pod)
	if verdict.Held {
		return verdict, unschedulable(waitingForTurn)
	}
	return verdict, nil
}

// decideInCycle answers for a pod that was admitted to the queue and is being scheduled. The scheduler tells people why such a
// pod is rejected.
func (h *holder) decideInCycle(pod *v1.Pod) (sequence.Verdict, *fwk.Status) {
	verdict, status := h.decide(pod)
	if !status.IsSuccess() && status.Message() == waitingForTurn {
		if message := h.engine.Why(pod); message != "" {
			status = unschedulable(message)
		}
	}
	return verdict, status
}

// writerOptions are those of the writer that explains waits as decide does.
func (h *holder) writerOptions() podwriter.Options {
	if !*h.args.ExplainWaits {
		return podwriter.Options{}
	}
	return podwriter.Options{
		Explains: func(pod *v1.Pod) bool { return h.profiles.Has(pod.Spec.SchedulerName) },
		Unknown:  h.unknown,
		Reporter: reporter,
	}
}

// unknown says what must become known before the engine is asked for the pod. It is empty if nothing must.
func (h *holder) unknown(pod *v1.Pod) string {
	if why := h.feed.Why(); why != "" {
		return waitingFor + why
	}
	return record.Explain(h.engine.Decide(pod), h.recorder.Why)
}

// preFilter makes the framework skip Filter for pods that may use any node. With Filter it would skip RemovePod.
func (h *holder) preFilter(logger klog.Logger, state fwk.CycleState, pod *v1.Pod, nodes int) (*fwk.PreFilterResult, *fwk.Status) {
	found := h.placement(pod)
	if found == nil {
		if h.mayEvictAsGang(pod) {
			return nil, nil
		}
		return nil, fwk.NewStatus(fwk.Skip)
	}
	state.Write(stateKey, placement{found})
	switch hosts := found.Hosts(); {
	case nodes < manyNodes, found.Pin.IsOne() && len(hosts) == 0:
		return nil, nil
	case found.Pin.IsOne():
		return &fwk.PreFilterResult{NodeNames: hosts}, nil
	}
	switch open := found.OpenNodes(); {
	case open == nil:
	case len(open.Names) == 0 && open.Why != "":
		h.keepOut(logger, found, open, pod)
		return nil, unschedulable(open.Why)
	case len(open.Names) > 0 && len(open.Names) <= nodes/fewInMany:
		return &fwk.PreFilterResult{NodeNames: open.Names}, nil
	}
	return nil, nil
}

// keepOut makes PreEnqueue refuse the pod once its cycle has failed. The scheduler tells that the pod is unschedulable, but to leave it among
// those would slow down all others: whenever any pod is bound, the queue asks of each of them whether that helps. It takes 5 us, with the queue
// locked (see moveAllToActiveOrBackoffQueue in pkg/scheduler/backend/queue of Kubernetes 1.37.1), and none for pods that PreEnqueue has refused.
// The pods of a PodGroup are tried together, and stay.
func (h *holder) keepOut(logger klog.Logger, found *sequence.Placement, open *sequence.OpenNodes, pod *v1.Pod) {
	if pod.Spec.SchedulingGroup == nil && found.NoteRefusal(open, time.Now()) {
		h.requeue(logger, pod)
	}
}

// placement says to which nodes sequences let the pod go; nil if it may use any. A pod that has its node asks for none: the scheduler
// only looks for room there.
func (h *holder) placement(pod *v1.Pod) *sequence.Placement {
	if pod.Spec.NodeName != "" {
		return nil
	}
	return h.engine.Placement(pod)
}

// mayUse reports whether the node is one of those that are open to a pod that is kept from others, or may be: see OpenAs.
func (h *holder) mayUse(pod *v1.Pod, node *v1.Node) bool {
	found := h.placement(pod)
	if found == nil {
		return false
	}
	d, again := found.OpenAs(node)
	return !d.Held || again
}

// waitsForAny reports whether a pod waits for the group of any of these.
func (h *holder) waitsForAny(pod *v1.Pod, others []fwk.PodInfo) bool {
	if h.args.isOwn(pod) {
		return false
	}
	for _, other := range others {
		if h.engine.WaitsFor(pod, other.GetPod()) {
			return true
		}
	}
	return false
}

// mayEvictAsGang reports whether the pod may be scheduled together with its PodGroup, and evict others of which RemovePod must know.
func (h *holder) mayEvictAsGang(pod *v1.Pod) bool {
	return pod.Spec.SchedulingGroup != nil && h.engine.MayBeHeldAgain(pod)
}

func (h *holder) ready() error {
	over, end := context.WithCancel(context.Background())
	end()
	// What this returns are the informers that have been started.
	informers := h.handle.SharedInformerFactory().WaitForCacheSync(over.Done())
	if len(informers) == 0 {
		return nil
	}
	for kind, synced := range informers {
		if !synced {
			return fmt.Errorf("the list of %s is not complete", kind)
		}
	}
	if why := h.feed.Why(); why != "" {
		return errors.New(why)
	}
	return h.clock.Check(nil)
}

// Messages of pods that wait although no PodSequence is known to hold them.
const (
	waitingFor     = "waiting for PodSequence: "
	waitingForTurn = waitingFor + "its turn has not come yet"
	waitingForNode = waitingFor + "no node is open to it yet"
)

// reporter is who the events of held pods come from, whatever the profiles are called.
const reporter = "podsequence-scheduler"

func keyOf(pod *v1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

// maxBindsAtOnce is how many of the pods that sequences release are bound at a time. A release of 1,000 pods would send as many bindings
// as the scheduler finds nodes for, which may be faster than they are answered. The default flow control of the API server queues
// 300 requests of a flow (6 queues of 50, see PriorityLevelConfiguration workload-high) and refuses those that come on top: they
// are sent again a second later.
const maxBindsAtOnce = 100

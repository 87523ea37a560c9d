// Package podsequence is the scheduler-framework plugin that holds pods until their group's turn in a PodSequence.
package podsequence

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"

	"example.com/podsequence/internal/telemetry"
	"example.com/podsequence/pkg/sequence"
)

// Name of the plugin in the registry and in configurations.
const Name = "PodSequence"

// PodSequence asks the engine whether a pod may be scheduled. All profiles of a scheduler share one holder.
type PodSequence struct {
	holder *holder
	// handle is the profile, and sparing is done when its preemption spares what pods wait for.
	handle  fwk.Handle
	sparing sync.Once
}

var (
	_ fwk.PreEnqueuePlugin    = &PodSequence{}
	_ fwk.EnqueueExtensions   = &PodSequence{}
	_ fwk.PreFilterPlugin     = &PodSequence{}
	_ fwk.PreFilterExtensions = &PodSequence{}
	_ fwk.FilterPlugin        = &PodSequence{}
	_ fwk.ReservePlugin       = &PodSequence{}
	_ fwk.BindPlugin          = &PodSequence{}
	_ fwk.SignPlugin          = &PodSequence{}
)

// Kubernetes' registry is the one that a scheduler serves.
func init() {
	legacyregistry.RawMustRegister(slices.Concat(telemetry.Shared.Collectors(), telemetry.Engine.Collectors())...)
}

// New makes the plugin for one profile.
func New(ctx context.Context, obj runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := parseArgs(obj)
	if err != nil {
		return nil, err
	}
	holder, err := holderFor(ctx, handle, args)
	if err != nil {
		return nil, err
	}
	return &PodSequence{holder: holder, handle: handle}, nil
}

// Name returns the name of the plugin.
func (pl *PodSequence) Name() string { return Name }

// PreEnqueue keeps a pod out of the queue until it is released. It runs under the queue's lock for every pod that is added or
// activated, so it does no more than read what the engine has published. Its message is not shown: the writer tells the pod
// what it waits for.
//
// A pod with gates is left to the plugin SchedulingGates, which holds it until they are gone, and then makes the queue ask again. So
// this plugin need not register that event, which the queue would compare with every event that comes, for each held pod.
func (pl *PodSequence) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	if len(pod.Spec.SchedulingGates) > 0 {
		return nil
	}
	verdict, status := pl.holder.decide(pod)
	if status.IsSuccess() && isInVain(verdict, pod, time.Now()) {
		return unschedulable(waitingForNode)
	}
	return status
}

// PreFilter asks once more: pods that come out of back-off skip PreEnqueue, and an edit may have come since.
func (pl *PodSequence) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	pl.sparing.Do(pl.spareAwaited)
	if _, status := pl.holder.decideInCycle(pod); !status.IsSuccess() {
		return nil, status
	}
	return pl.holder.preFilter(klog.FromContext(ctx), state, pod, len(nodes))
}

// Filter keeps the pod from nodes where an earlier group of its sequence is not ready. To evict somebody there would not
// help, so nobody is.
func (pl *PodSequence) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	found := inCycle(state)
	if found == nil {
		return nil
	}
	d, again := found.OpenAs(nodeInfo.Node())
	if again {
		pl.holder.requeue(klog.FromContext(ctx), pod)
	}
	if d.Held {
		return unschedulable(d.FilterMessage())
	}
	return nil
}

// Reserve looks at the chosen node once more: it may have closed since it was filtered. Another node may be open all the
// time, so that no event will bring the pod back: it asks to be tried again.
func (pl *PodSequence) Reserve(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) *fwk.Status {
	status := openNow(inCycle(state), nodeName)
	if !status.IsSuccess() {
		pl.holder.requeue(klog.FromContext(ctx), pod)
	}
	return status
}

// Unreserve has nothing to undo.
func (pl *PodSequence) Unreserve(context.Context, fwk.CycleState, *v1.Pod, string) {}

// SignPod says from which nodes sequences keep the pod. Whether it may be scheduled at all PreFilter asks for each pod by itself.
// Without this method the profile would lose batching for all its pods.
func (pl *PodSequence) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	if found := pl.holder.placement(pod); found != nil {
		return []fwk.SignFragment{{Key: Name, Value: found.Signature()}}, nil
	}
	return nil, nil
}

// EventsToRegister returns the events that release a pod of which the holder does not know better. All others it knows
// exactly, and activates the pods that it concerns. If it registered events of other pods, the queue would go through all
// held pods at every status update of any pod. The queue compares each of these events with each event that comes, for each held
// pod, and does so for each profile. So there is only one.
func (pl *PodSequence) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		// A node is open from the start, or becomes open by its labels: the holder may know of it before the scheduler
		// does, and then it activates pods in vain.
		{
			Event:          fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel},
			QueueingHintFn: pl.isNodeOpen,
		},
	}, nil
}

func (pl *PodSequence) isNodeOpen(_ klog.Logger, pod *v1.Pod, _, newObj any) (fwk.QueueingHint, error) {
	node, ok := newObj.(*v1.Node)
	if !ok {
		return fwk.Queue, fmt.Errorf("event of a node brought a %T", newObj)
	}
	if pl.holder.mayUse(pod, node) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// Bind takes the last look at a pod, and leaves it to the next Bind plugin, usually DefaultBinder, to bind it.
//
// A pod that must wait again since PreFilter is refused: nothing touches a bound pod, so this is the last moment at which
// the order can be kept. Work of PreBind is done in vain then. The scheduler has called Done for the pod before PreBind, so
// activating it here would be ignored, and no event would bring it back. But it takes any failure to bind for one that
// may be gone a moment later, whatever the status says: it puts the pod into back-off, with no plugin to blame. There
// PreEnqueue asks the engine, and either the pod is tried again after back-off, or it is held until it is released.
//
// Only pods that sequences release wait for a slot of maxBindsAtOnce. Others must not queue behind the release of a sequence. The context
// is that of the binding cycle, which ends when the pod is bound, or is not, by whichever plugin: with it the slot is given back.
func (pl *PodSequence) Bind(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	unbound := *pod // the scheduler has set the node already
	unbound.Spec.NodeName = ""
	verdict, status := pl.lastLook(&unbound, node)
	if !status.IsSuccess() {
		return status
	}
	if verdict.Ordered {
		select {
		case pl.holder.binds <- struct{}{}:
			context.AfterFunc(ctx, func() { <-pl.holder.binds })
		case <-ctx.Done():
			return fwk.AsStatus(fmt.Errorf("wait for earlier bindings: %w", context.Cause(ctx)))
		}
		// Once more, because the first answer may be seconds old by now.
		if _, status := pl.lastLook(&unbound, node); !status.IsSuccess() {
			return status
		}
	}
	return fwk.NewStatus(fwk.Skip)
}

// lastLook answers for a pod that is about to be bound to a node.
func (pl *PodSequence) lastLook(unbound *v1.Pod, node string) (sequence.Verdict, *fwk.Status) {
	verdict, status := pl.holder.decideInCycle(unbound)
	if status.IsSuccess() {
		// Not what PreFilter found out: since then a sequence may have come that keeps the pod from this node.
		status = openNow(pl.holder.placement(unbound), node)
	}
	return verdict, status
}

// spareAwaited makes the plugin DefaultPreemption of this profile spare the pods for which a pod waits. A pod that evicts a member of a group
// that it waits for is held by its own doing: the group breaks, the pod is held again, and the replacement of the evicted pod takes the room
// back. For a whole PodGroup, DefaultPreemption does not ask. There RemovePod fails when the scheduler settles on such a victim, and with it
// this attempt of the PodGroup.
//
// A profile has its other plugins only when New has returned, so the first scheduling cycle does this. It comes before any preemption.
func (pl *PodSequence) spareAwaited() {
	profile, ok := pl.handle.(interface {
		EnqueueExtensions() []fwk.EnqueueExtensions
	})
	if !ok {
		return
	}
	for _, plugin := range profile.EnqueueExtensions() {
		if stock, ok := plugin.(*defaultpreemption.DefaultPreemption); ok {
			isEligible := stock.IsEligiblePod
			stock.IsEligiblePod = func(node fwk.NodeInfo, victim preemption.Victim, preemptor *v1.Pod) bool {
				return isEligible(node, victim, preemptor) && !pl.holder.waitsForAny(preemptor, victim.Pods())
			}
		}
	}
}

// PreFilterExtensions returns the plugin itself, see RemovePod.
func (pl *PodSequence) PreFilterExtensions() fwk.PreFilterExtensions { return pl }

// AddPod has nothing to compute.
func (pl *PodSequence) AddPod(context.Context, fwk.CycleState, *v1.Pod, fwk.PodInfo, fwk.NodeInfo) *fwk.Status {
	return nil
}

// RemovePod fails if the scheduler tries to evict a pod for whose group this one waits.
func (pl *PodSequence) RemovePod(_ context.Context, _ fwk.CycleState, pod *v1.Pod, victim fwk.PodInfo, _ fwk.NodeInfo) *fwk.Status {
	if pl.holder.waitsForAny(pod, []fwk.PodInfo{victim}) {
		return fwk.AsStatus(fmt.Errorf("pod %s/%s is not evicted: it belongs to a group that this pod waits for", victim.GetPod().Namespace, victim.GetPod().Name))
	}
	return nil
}

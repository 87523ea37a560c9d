package podsequence

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"example.com/podsequence/pkg/sequence"
)

// maxBindsAtOnce is how many of the pods that sequences release are bound at a time. A release of 1,000 pods would send as many bindings
// as the scheduler finds nodes for, which may be faster than they are answered. The default flow control of the API server queues
// 300 requests of a flow (6 queues of 50, see PriorityLevelConfiguration workload-high) and refuses those that come on top: they
// are sent again a second later.
const maxBindsAtOnce = 100

// Bind takes the last look at a pod, and leaves it to the next Bind plugin, usually DefaultBinder, to bind it.
//
// A pod that must wait again since PreFilter is refused: nothing touches a bound pod, so this is the last moment at which
// the order can be kept. Work of PreBind is done in vain then. The scheduler has called Done for the pod before PreBind, so
// activating it here would be ignored, and no event would bring it back. But it takes any failure to bind for one that
// may be gone a moment later, whatever the status says: it puts the pod into back-off, with no plugin to blame. There
// PreEnqueue asks the engine, and either the pod is tried again after back-off, or it is held until it is released.
//
// Only pods that sequences release wait for a slot of maxBindsAtOnce. Others must not queue behind the release of a sequence. The context
// is that of the binding cycle, which ends when the pod is bound, or is not, whoever binds it: with it the slot is given back.
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

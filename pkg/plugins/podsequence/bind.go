package podsequence

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// maxBindsAtOnce is how many of our bindings are on the way to the API server at a time. A release of 1,000 pods would send as many
// as the scheduler finds nodes for, which may be faster than they are answered. The default flow control of the API server queues
// 300 requests of a flow (6 queues of 50, see PriorityLevelConfiguration workload-high) and refuses those that come on top: they
// are sent again a second later.
const maxBindsAtOnce = 100

// Bind binds a pod that PodSequences release, and leaves the proof of that on it. It skips all other pods, which the next
// Bind plugin binds, usually DefaultBinder.
//
// The API server copies the annotations of a Binding to the pod in the write that binds it (setPodNodeAndMetadata in
// pkg/registry/core/pod/storage). So there is no bound pod that has its proof yet to come, and no request more.
//
// A pod that must wait again since PreFilter is refused: nothing touches a bound pod, so this is the last moment at which
// the order can be kept. Work of PreBind is done in vain then. The scheduler has called Done for the pod before PreBind, so
// activating it here would be ignored, and no event would bring it back. But it takes any failure to bind for one that
// may be gone a moment later, whatever the status says: it puts the pod into back-off, with no plugin to blame. There
// PreEnqueue asks the engine, and either the pod is tried again after back-off, or it is held until it is released.
//
// Only pods that are bound here wait for a slot of maxBindsAtOnce. Others must not queue behind the release of a sequence.
func (pl *PodSequence) Bind(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	unbound := *pod // the scheduler has set the node already
	unbound.Spec.NodeName = ""
	proof, status := pl.proofForBinding(&unbound, node)
	if proof == "" {
		return status
	}
	select {
	case pl.holder.binds <- struct{}{}:
		defer func() { <-pl.holder.binds }()
	case <-ctx.Done():
		return fwk.AsStatus(fmt.Errorf("wait for earlier bindings: %w", context.Cause(ctx)))
	}
	// Once more, because the first answer may be seconds old by now.
	if proof, status = pl.proofForBinding(&unbound, node); proof == "" {
		return status
	}
	releasedAt := pl.holder.releasedAt(&unbound) // the pod's event may come before the answer
	status = bind(ctx, pl.holder.handle, &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
			Annotations: map[string]string{v1alpha1.ReleasedAnnotation: proof},
		},
		Target: v1.ObjectReference{Kind: "Node", Name: node},
	})
	if status.IsSuccess() {
		observeBind(releasedAt, time.Now())
	}
	return status
}

// proofForBinding returns the proof with which to bind a pod to a node now. Without one, the status says why not: the pod must wait, or
// the plugin skips it because no sequence has it.
func (pl *PodSequence) proofForBinding(unbound *v1.Pod, node string) (proof string, status *fwk.Status) {
	verdict, status := pl.holder.decideInCycle(unbound)
	if !status.IsSuccess() {
		return "", status
	}
	// Not what PreFilter found out: since then a sequence may have come that keeps the pod from this node.
	if status := openNow(pl.holder.placement(unbound), node); !status.IsSuccess() {
		return "", status
	}
	if proof = verdict.Proof(unbound); proof == "" {
		return "", fwk.NewStatus(fwk.Skip)
	}
	return proof, nil
}

// bind does what DefaultBinder does.
func bind(ctx context.Context, handle fwk.Handle, binding *v1.Binding) *fwk.Status {
	if calls := handle.APICacher(); calls != nil {
		// The feature SchedulerAsyncAPICalls is on. The call carries the Binding as it is.
		finished, err := calls.BindPod(binding)
		if err != nil {
			return fwk.AsStatus(err)
		}
		if err := calls.WaitOnFinish(ctx, finished); err != nil {
			return fwk.AsStatus(err)
		}
		return nil
	}
	klog.FromContext(ctx).V(3).Info("Attempting to bind pod to node",
		"pod", klog.KObj(&binding.ObjectMeta), "node", klog.KRef("", binding.Target.Name))
	if err := util.BindPod(ctx, handle.ClientSet(), binding); err != nil {
		return fwk.AsStatus(err)
	}
	return nil
}

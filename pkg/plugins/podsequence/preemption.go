package podsequence

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// A pod that evicts a member of a group that it waits for is held by its own doing: the group breaks, the pod is held again, and the
// replacement of the evicted pod takes the room back. So such members are no victims.
//
// DefaultPreemption asks a function which pods a pod may evict, see spareAwaited. For a whole PodGroup it asks nobody. There RemovePod fails
// when the scheduler settles on such a victim, and with it this attempt of the PodGroup.

// spareAwaited makes the plugin DefaultPreemption of this profile spare the pods for which a pod waits. A profile has its other plugins
// only when New has returned, so the first scheduling cycle does this. It comes before any preemption.
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

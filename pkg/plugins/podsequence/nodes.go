package podsequence

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"example.com/podsequence/pkg/sequence"
)

// stateKey is where a scheduling cycle keeps what PreFilter found out.
const stateKey fwk.StateKey = "PreFilter" + Name

// placement says to which nodes the pod of this cycle may be bound. It answers for the moment at which it is asked.
type placement struct{ *sequence.Placement }

// Clone returns the same: nothing in it changes.
func (p placement) Clone() fwk.StateData { return p }

const (
	// To name the open nodes saves filtering all others, but the message of a pod that fits on none of them then no longer says for which
	// group the others wait. So it pays only when there are many nodes, and few of them are open. While none is, a pod is refused without filtering.
	// The plugin NodeAffinity narrows a pod to the node that it names by metadata.name, but not by the label of its host.
	manyNodes = 100
	fewInMany = 10 // one in so many is few
)

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

// inCycle returns what PreFilter found out; nil if the pod may use any node.
func inCycle(state fwk.CycleState) *sequence.Placement {
	data, err := state.Read(stateKey)
	if err != nil {
		return nil
	}
	return data.(placement).Placement
}

// toldAfter is how long it may take the scheduler to write that a pod is unschedulable. It gives up after a moment, and then tries again
// only when something happens to the pod.
const toldAfter = 10 * time.Second

// isInVain reports whether to try the pod would be in vain, and people and autoscalers are told that it is unschedulable, or will be.
func isInVain(verdict sequence.Verdict, pod *v1.Pod, now time.Time) bool {
	if verdict.InVain.IsZero() {
		return false
	}
	if _, told := podutil.GetPodCondition(&pod.Status, v1.PodScheduled); told != nil {
		return told.Reason == v1.PodReasonUnschedulable
	}
	return now.Before(verdict.InVain.Add(toldAfter))
}

// openNow answers for a node that was chosen, at this moment.
func openNow(found *sequence.Placement, node string) *fwk.Status {
	if found == nil {
		return nil
	}
	if d := found.Open(node); d.Held {
		return unschedulable(d.FilterMessage())
	}
	return nil
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

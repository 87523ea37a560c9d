package podsequence

import (
	"time"

	v1 "k8s.io/api/core/v1"
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

package podsequence

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

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
	// A pod that asks for one node is narrowed to it by the plugin NodeAffinity.
	manyNodes = 100
	fewInMany = 10 // one in so many is few
)

// preFilter makes the framework skip Filter for pods that may use any node. With Filter it would skip RemovePod.
func (h *holder) preFilter(state fwk.CycleState, pod *v1.Pod, nodes int) (*fwk.PreFilterResult, *fwk.Status) {
	found := h.placement(pod)
	if found == nil {
		if h.mayEvictAsGang(pod) {
			return nil, nil
		}
		return nil, fwk.NewStatus(fwk.Skip)
	}
	state.Write(stateKey, placement{found})
	if nodes < manyNodes || found.Pinned {
		return nil, nil
	}
	switch open, why := found.OpenNodes(); {
	case len(open) == 0 && why != "":
		return nil, unschedulable(why)
	case len(open) > 0 && len(open) <= nodes/fewInMany:
		return &fwk.PreFilterResult{NodeNames: open}, nil
	}
	return nil, nil
}

// placement says to which nodes sequences let the pod go; nil if it may use any. A pod that has its node asks for none: the scheduler
// only looks for room there. Without an engine, decide lets nobody through but the pods of PodSequence itself.
func (h *holder) placement(pod *v1.Pod) *sequence.Placement {
	f := h.feeding.Load()
	if f == nil || pod.Spec.NodeName != "" {
		return nil
	}
	return f.engine.Placement(pod)
}

// inCycle returns what PreFilter found out; nil if the pod may use any node.
func inCycle(state fwk.CycleState) *sequence.Placement {
	data, err := state.Read(stateKey)
	if err != nil {
		return nil
	}
	return data.(placement).Placement
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

// mayUse reports whether the node is one of those that are open to a pod that is kept from others.
func (h *holder) mayUse(pod *v1.Pod, node *v1.Node) bool {
	found := h.placement(pod)
	if found == nil {
		return false
	}
	d, _ := found.OpenAs(node)
	return !d.Held
}

// signature is what the pod's node scope looks like to the scheduler's batching.
type signature struct {
	Sequence string
	Group    int
}

func (h *holder) sign(pod *v1.Pod) []fwk.SignFragment {
	var parts []signature
	for _, n := range h.placement(pod).Needs() {
		parts = append(parts, signature{n.Sequence.String(), n.Group})
	}
	if len(parts) == 0 {
		return nil
	}
	return []fwk.SignFragment{{Key: Name, Value: parts}}
}

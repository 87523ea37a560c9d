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
	// To name the nodes saves filtering all others, but the message of a pod that fits on none of them then no longer
	// says what the others lack. So it pays only when there are many nodes, and few of them are open. To a pod with the
	// name of its host in a node selector these are one: without a name from us the scheduler would filter them all.
	manyNodes = 100
	fewInMany = 10 // one in so many is few
)

// preFilter makes the framework skip Filter for pods that may use any node.
func (h *holder) preFilter(state fwk.CycleState, pod *v1.Pod, nodes int) (*fwk.PreFilterResult, *fwk.Status) {
	found := h.feeding.Load().engine.Placement(pod)
	if found == nil {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	state.Write(stateKey, placement{found})
	if nodes < manyNodes {
		return nil, nil
	}
	if names, few := found.Few(nodes / fewInMany); few && len(names) > 0 {
		return &fwk.PreFilterResult{NodeNames: names}, nil
	}
	return nil, nil
}

// filter answers for one node.
func filter(state fwk.CycleState, node string) *fwk.Status {
	data, err := state.Read(stateKey)
	if err != nil {
		return nil // the pod may use any node: PreFilter skipped
	}
	if d := data.(placement).Open(node); d.Held {
		return unschedulable(d.FilterMessage())
	}
	return nil
}

// mayUse reports whether the node is one of those that are open to a pod that is kept from others.
func (h *holder) mayUse(pod *v1.Pod, node string) bool {
	f := h.feeding.Load()
	if f == nil {
		return false
	}
	found := f.engine.Placement(pod)
	return found != nil && !found.Open(node).Held
}

// signature is what the pod's node scope looks like to the scheduler's batching.
type signature struct {
	Sequence string
	Group    int
}

func (h *holder) sign(pod *v1.Pod) []fwk.SignFragment {
	f := h.feeding.Load()
	if f == nil {
		return nil
	}
	var parts []signature
	for _, n := range f.engine.Placement(pod).Needs() {
		parts = append(parts, signature{n.Sequence.String(), n.Group})
	}
	if len(parts) == 0 {
		return nil
	}
	return []fwk.SignFragment{{Key: Name, Value: parts}}
}

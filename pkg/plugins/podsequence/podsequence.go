// Package podsequence is the scheduler-framework plugin that holds pods until their group's turn in a PodSequence.
package podsequence

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

// Name of the plugin in the registry and in configurations.
const Name = "PodSequence"

// PodSequence asks the engine whether a pod may be scheduled. It has no state of its own: all profiles of a scheduler
// share one holder.
type PodSequence struct {
	holder *holder
}

var (
	_ fwk.PreEnqueuePlugin  = &PodSequence{}
	_ fwk.EnqueueExtensions = &PodSequence{}
	_ fwk.PreFilterPlugin   = &PodSequence{}
	_ fwk.SignPlugin        = &PodSequence{}
)

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
	return &PodSequence{holder: holder}, nil
}

// Name returns the name of the plugin.
func (pl *PodSequence) Name() string { return Name }

// PreEnqueue keeps a pod out of the queue until it may go. It runs under the queue's lock for every pod that is added or
// activated, so it does no more than ask the engine.
func (pl *PodSequence) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	return pl.holder.decide(pod)
}

// PreFilter asks once more: pods that come out of back-off skip PreEnqueue, and an edit may have come since.
func (pl *PodSequence) PreFilter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if status := pl.holder.decide(pod); !status.IsSuccess() {
		return nil, status
	}
	return nil, fwk.NewStatus(fwk.Skip)
}

// PreFilterExtensions returns nil: nothing is computed that other pods on a node could change.
func (pl *PodSequence) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// SignPod adds nothing: whether a pod may go does not depend on the node, and PreFilter asks for each pod by itself.
// Without this method the profile would lose batching for all its pods.
func (pl *PodSequence) SignPod(context.Context, *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	return nil, nil
}

// EventsToRegister returns the only event that lets a held pod go of which the holder does not know: its last gate was
// lifted. All others it knows exactly, and activates that pod. Registering events of other pods would have the queue go
// through all held pods at every status update of any pod.
func (pl *PodSequence) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodSchedulingGatesEliminated}},
	}, nil
}

package podsequence

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"example.com/podsequence/pkg/podwriter"
	"example.com/podsequence/pkg/record"
	"example.com/podsequence/pkg/sequence"
)

// Messages of pods that wait although no PodSequence is known to hold them.
const (
	waitingFor     = "waiting for PodSequence: "
	waitingToBegin = waitingFor + "this scheduler is starting and does not know any PodSequence yet"
	waitingForTurn = waitingFor + "its turn has not come yet"
	waitingForNode = waitingFor + "no node is open to it yet"
)

// reporter is who the events of held pods come from, whatever the profiles are called.
const reporter = "podsequence-scheduler"

// decide answers for one pod. It waits for no event, so what it says of a pod that a sequence holds is not what the pod waits
// for: see why. A pod of PodSequence itself is not asked about: without it, what the others wait for may never become known. Nor is one that
// has its node, which the scheduler may evict others for if it is resized (InPlacePodVerticalScalingSchedulerPreemption).
func (h *holder) decide(pod *v1.Pod) (sequence.Verdict, *fwk.Status) {
	if pod.Spec.NodeName != "" || h.args.isOwn(pod) {
		return sequence.Verdict{}, nil
	}
	f := h.feeding.Load()
	if f == nil {
		if f = h.refuseBeforeStart(pod); f == nil {
			return sequence.Verdict{Held: true}, unschedulable(waitingToBegin)
		}
	}
	if !f.feed.Synced() {
		// Asked again after being remembered: what completes in between reports either to the one or to the other.
		f.engine.ReportWhenSeen(pod)
		if why := f.feed.Why(); why != "" {
			f.writer.Explain(keyOf(pod))
			return sequence.Verdict{Held: true}, unschedulable(waitingFor + why)
		}
	}
	verdict := f.engine.Verdict(pod)
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
		if message := h.feeding.Load().engine.Why(pod); message != "" {
			status = unschedulable(message)
		}
	}
	return verdict, status
}

// refuseBeforeStart notes that the pod was refused before there was an engine. It returns what there is now if that has changed.
func (h *holder) refuseBeforeStart(pod *v1.Pod) *feeding {
	h.refusedMu.Lock()
	defer h.refusedMu.Unlock()
	if f := h.feeding.Load(); f != nil {
		return f
	}
	h.refusedBeforeStart[pod.UID] = pod
	return nil
}

// useEngine makes the holder ask the engine from now on. The engine reports the release of pods that were refused before, including
// those that its first list does not contain yet: the scheduler's own list may be newer.
func (h *holder) useEngine(f *feeding) {
	h.refusedMu.Lock()
	defer h.refusedMu.Unlock()
	h.feeding.Store(f)
	for _, pod := range h.refusedBeforeStart {
		f.engine.ReportWhenSeen(pod)
		f.writer.Explain(keyOf(pod))
	}
	clear(h.refusedBeforeStart)
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
	f := h.feeding.Load()
	if f == nil {
		return waitingToBegin
	}
	if why := f.feed.Why(); why != "" {
		return waitingFor + why
	}
	return record.Explain(f.engine.Decide(pod), f.recorder.Why)
}

func keyOf(pod *v1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

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
	if !h.feed.Synced() {
		// Asked again after being remembered: what completes in between reports either to the one or to the other.
		h.engine.ReportWhenSeen(pod)
		if why := h.feed.Why(); why != "" {
			h.writer.Explain(keyOf(pod))
			return sequence.Verdict{Held: true}, unschedulable(waitingFor + why)
		}
	}
	verdict := h.engine.Verdict(pod)
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
		if message := h.engine.Why(pod); message != "" {
			status = unschedulable(message)
		}
	}
	return verdict, status
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
	if why := h.feed.Why(); why != "" {
		return waitingFor + why
	}
	return record.Explain(h.engine.Decide(pod), h.recorder.Why)
}

func keyOf(pod *v1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

package podsequence

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"example.com/podsequence/pkg/podwriter"
)

// Messages of pods that wait although no PodSequence is known to hold them.
const (
	waitingFor     = "waiting for PodSequence: "
	waitingToBegin = waitingFor + "this scheduler has not begun to watch"
	waitingForAll  = waitingFor + "not all PodSequences from before this pod are known yet"
)

// decide answers for one pod.
func (h *holder) decide(pod *v1.Pod) *fwk.Status {
	f := h.feeding.Load()
	if f == nil {
		if f = h.refuseUnasked(pod); f == nil {
			return unschedulable(waitingToBegin)
		}
	}
	if !f.feed.Synced() {
		// Asked again after being remembered: what completes in between reports either to the one or to the other.
		f.engine.Remember(pod)
		if why := f.feed.Why(); why != "" {
			f.writer.Explain(keyOf(pod))
			return unschedulable(waitingFor + why)
		}
	}
	if d := f.engine.Decide(pod); d.Held {
		return unschedulable(d.Message())
	}
	if !f.feed.CaughtUp(f.engine.FirstSeen(pod)) && h.holdEarly(f, pod) {
		f.writer.Explain(keyOf(pod))
		return unschedulable(waitingForAll)
	}
	return nil
}

// refuseUnasked notes that the pod was refused before there was an engine. It returns what there is now if that has changed.
func (h *holder) refuseUnasked(pod *v1.Pod) *feeding {
	h.refusedMu.Lock()
	defer h.refusedMu.Unlock()
	if f := h.feeding.Load(); f != nil {
		return f
	}
	h.unasked[pod.UID] = pod
	return nil
}

// begin has the engine asked from now on. The engine reports the release of pods that were refused before, also of those
// that its first list does not have yet: the scheduler's own list may be newer.
func (h *holder) begin(f *feeding) {
	h.refusedMu.Lock()
	defer h.refusedMu.Unlock()
	h.feeding.Store(f)
	for _, pod := range h.unasked {
		f.engine.Remember(pod)
		f.writer.Explain(keyOf(pod))
	}
	clear(h.unasked)
}

// holdEarly notes that the pod waits, unless it need not wait any more. By looking once more after the note, nothing that
// becomes known in between is missed.
func (h *holder) holdEarly(f *feeding, pod *v1.Pod) bool {
	h.refusedMu.Lock()
	defer h.refusedMu.Unlock()
	if f.feed.CaughtUp(f.engine.FirstSeen(pod)) {
		return false
	}
	h.early[pod.UID] = earlyPod{keyOf(pod), pod}
	return true
}

// releaseEarly activates the pods that waited for what is known by now. PreEnqueue asks the engine again.
func (h *holder) releaseEarly(logger klog.Logger, f *feeding) {
	h.refusedMu.Lock()
	ready := map[types.UID]types.NamespacedName{}
	for uid, pod := range h.early {
		if f.feed.CaughtUp(f.engine.FirstSeen(pod.object)) {
			ready[uid] = pod.NamespacedName
			delete(h.early, uid)
		}
	}
	h.refusedMu.Unlock()
	h.activate(logger, ready)
}

// writerOptions are those of the writer that explains waits as decide does.
func (h *holder) writerOptions() podwriter.Options {
	if !*h.args.ExplainWaits {
		return podwriter.Options{}
	}
	return podwriter.Options{
		Explains: func(pod *v1.Pod) bool { return h.profiles.Has(pod.Spec.SchedulerName) },
		Unknown:  h.unknown,
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
	h.refusedMu.Lock()
	_, early := h.early[pod.UID]
	h.refusedMu.Unlock()
	doubt := f.feed.Doubt(pod.Namespace)
	if early {
		return withDoubt(waitingForAll, doubt)
	}
	if d := f.engine.Decide(pod); d.Confirming() && doubt != "" {
		return withDoubt(d.Message(), doubt)
	}
	return ""
}

func withDoubt(message, doubt string) string {
	if doubt == "" {
		return message
	}
	return message + ": " + doubt
}

func keyOf(pod *v1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

package kueue

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/podsequence/pkg/sequence"
)

// What a check says that keeps no Workload.
const (
	messageReady    = "It is the turn of its pods, or no PodSequence holds them."
	messageAdmitted = "It was admitted before the check was asked."
)

// decision is what is to be written to a Workload.
type decision struct {
	// checks are the new states of checks by name.
	checks []checkState
	// queue is the new condition Requeued; nil if it stays as it is.
	queue *metav1.Condition
}

func (d decision) empty() bool { return len(d.checks) == 0 && d.queue == nil }

// opens reports that the decision lets Kueue admit the Workload.
func (d decision) opens() bool {
	return len(d.checks) > 0 && d.checks[0].State == stateReady
}

// decide returns what is to be written to a Workload. ours are the names of the checks of this controller. The note, if it is not empty, is
// added to what the checks say.
func decide(w *workload, ours sets.Set[string], hold sequence.Hold, note string) decision {
	switch {
	case w.over(), w.is(evicted) && w.is(quotaReserved): // Kueue will reset all checks, or has done so and stops the pods
		return decision{}
	case !hasAny(w, ours):
		return decision{queue: w.enqueue("The check that kept it from the queue is gone.")}
	case w.runs():
		return decision{checks: w.checksFrom(ours, statePending, stateReady, messageAdmitted)}
	case hold.Held():
		message := "Its pods are held by " + hold.String() + "." + note
		return decision{checks: w.checksTo(ours, stateRetry, message), queue: w.dequeue(message)}
	}
	return decision{checks: w.checksTo(ours, stateReady, messageReady+note), queue: w.enqueue(messageReady)}
}

func hasAny(w *workload, ours sets.Set[string]) bool {
	for _, check := range w.Status.AdmissionChecks {
		if ours.Has(check.Name) {
			return true
		}
	}
	return false
}

// checksTo returns our checks that do not say this yet.
func (w *workload) checksTo(ours sets.Set[string], state, message string) (changed []checkState) {
	for _, check := range w.Status.AdmissionChecks {
		if want := (checkState{Name: check.Name, State: state, Message: message}); ours.Has(check.Name) && check != want {
			changed = append(changed, want)
		}
	}
	return changed
}

// checksFrom is checksTo for those that are in another state now.
func (w *workload) checksFrom(ours sets.Set[string], from, state, message string) (changed []checkState) {
	for _, check := range w.Status.AdmissionChecks {
		if ours.Has(check.Name) && check.State == from {
			changed = append(changed, checkState{Name: check.Name, State: state, Message: message})
		}
	}
	return changed
}

// dequeue is the condition that takes the Workload out of the queue; nil if it is out of it already, whoever did that.
func (w *workload) dequeue(message string) *metav1.Condition {
	now := w.condition(requeued)
	if now.Status == metav1.ConditionFalse && (now.Reason != ReasonWaits || now.Message == message) {
		return nil
	}
	return &metav1.Condition{Type: requeued, Status: metav1.ConditionFalse, Reason: ReasonWaits, Message: message, ObservedGeneration: w.Generation}
}

// enqueue is the condition that puts the Workload back into the queue; nil if this controller did not take it out.
func (w *workload) enqueue(message string) *metav1.Condition {
	now := w.condition(requeued)
	if now.Status != metav1.ConditionFalse || now.Reason != ReasonWaits {
		return nil
	}
	return &metav1.Condition{Type: requeued, Status: metav1.ConditionTrue, Reason: ReasonTurn, Message: message, ObservedGeneration: w.Generation}
}

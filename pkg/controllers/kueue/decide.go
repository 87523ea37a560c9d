package kueue

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// applyTo changes the status of a Workload. What the controller does not know in it stays.
func (d decision) applyTo(object *unstructured.Unstructured, now metav1.Time) error {
	checks, _, err := unstructured.NestedSlice(object.Object, "status", "admissionChecks")
	if err != nil {
		return fmt.Errorf("read admission checks: %w", err)
	}
	for _, want := range d.checks {
		for _, stored := range checks {
			check, isMap := stored.(map[string]any)
			if !isMap || check["name"] != want.Name {
				continue
			}
			if check["state"] != want.State {
				check["lastTransitionTime"] = now.UTC().Format(time.RFC3339)
			}
			check["state"], check["message"] = want.State, want.Message
		}
	}
	if len(d.checks) > 0 {
		if err := unstructured.SetNestedSlice(object.Object, checks, "status", "admissionChecks"); err != nil {
			return fmt.Errorf("set admission checks: %w", err)
		}
	}
	if d.queue == nil {
		return nil
	}
	conditions, err := conditionsOf(object)
	if err != nil {
		return err
	}
	meta.SetStatusCondition(&conditions, *d.queue)
	return setConditions(object, conditions)
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

package kueue

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// CheckController is what spec.controllerName of an AdmissionCheck says if this controller answers for it.
const CheckController = "podsequence.example.com/sequence"

var groupVersion = schema.GroupVersion{Group: "kueue.x-k8s.io", Version: "v1beta2"}

// The kinds of Kueue that the controller knows.
var (
	WorkloadResource       = groupVersion.WithResource("workloads")
	WorkloadKind           = groupVersion.WithKind("Workload")
	AdmissionCheckResource = groupVersion.WithResource("admissionchecks")
	AdmissionCheckKind     = groupVersion.WithKind("AdmissionCheck")
)

// The states of a check.
const (
	statePending = "Pending"
	stateReady   = "Ready"
	stateRetry   = "Retry"
)

// Conditions of a Workload, and the one of an AdmissionCheck.
const (
	quotaReserved = "QuotaReserved"
	admitted      = "Admitted"
	evicted       = "Evicted"
	finished      = "Finished"
	requeued      = "Requeued"
	podsReady     = "PodsReady"

	active = "Active"
)

// Reasons of the condition Requeued that this controller gives. Kueue leaves the condition alone while it has a reason that Kueue does not
// know, and reserves no quota while it is False.
const (
	ReasonWaits = "WaitsForPodSequence"
	ReasonTurn  = "TurnInPodSequence"
)

// workload is what matters of a Workload.
type workload struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		PodSets   []podSet `json:"podSets"`
		QueueName string   `json:"queueName"`
		Active    *bool    `json:"active"`
	} `json:"spec"`
	Status struct {
		Conditions      []metav1.Condition `json:"conditions"`
		AdmissionChecks []checkState       `json:"admissionChecks"`
	} `json:"status"`
}

type podSet struct {
	Name     string                 `json:"name"`
	Count    int32                  `json:"count"`
	Template corev1.PodTemplateSpec `json:"template"`
}

type checkState struct {
	Name    string `json:"name"`
	State   string `json:"state"`
	Message string `json:"message"`
}

// readWorkload returns what matters of a stored Workload.
func readWorkload(object *unstructured.Unstructured) (*workload, error) {
	w := &workload{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, w); err != nil {
		return nil, fmt.Errorf("read Workload %s: %w", object.GetName(), err)
	}
	return w, nil
}

func (w *workload) is(condition string) bool {
	return meta.IsStatusConditionTrue(w.Status.Conditions, condition)
}

func (w *workload) condition(name string) metav1.Condition {
	if c := meta.FindStatusCondition(w.Status.Conditions, name); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// runs reports that Kueue has admitted the Workload and does not evict it: its pods may be there.
func (w *workload) runs() bool { return w.is(admitted) && !w.is(evicted) }

// over reports that Kueue will not admit the Workload, whatever checks say.
func (w *workload) over() bool {
	return w.DeletionTimestamp != nil || w.is(finished) || w.Spec.Active != nil && !*w.Spec.Active
}

// pods returns a pod of each template of the Workload.
func (w *workload) pods() []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range w.Spec.PodSets {
		set := &w.Spec.PodSets[i]
		if set.Count == 0 {
			continue
		}
		pods = append(pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: w.Namespace, Labels: set.Template.Labels, Annotations: set.Template.Annotations,
			},
			Spec: set.Template.Spec,
		})
	}
	return pods
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

// dequeue is the condition that takes the Workload out of the queue; nil if it is already out of it.
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

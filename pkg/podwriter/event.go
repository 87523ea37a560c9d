package podwriter

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/printable"
)

const (
	// eventDelay is how long a pod is held before an event says so. Most pods are released sooner.
	eventDelay = 10 * time.Second
	// actionHolding is the action of these events.
	actionHolding = "Holding"
)

// writeEvent writes the one event of a pod that has been held for eventDelay and still is. People read events: kubectl describe pod
// shows neither the reason nor the message of the condition.
func (w *Writer) writeEvent(ctx context.Context, key types.NamespacedName) error {
	pod, event, err := w.eventToWrite(ctx, key)
	if event == nil {
		w.eventTurns.Forget(key)
		return err
	}
	if age := w.options.Clock.Since(pod.CreationTimestamp.Time); 0 <= age && age < eventDelay {
		w.events.AddAfter(key, eventDelay-age) // it has the name of the pod that was held before
		return nil
	}
	if !w.eventTurns.Turn(key, 1) {
		return nil
	}
	_, err = w.client.EventsV1().Events(pod.Namespace).Create(ctx, event, metav1.CreateOptions{})
	switch {
	case err == nil, apierrors.IsAlreadyExists(err): // this program wrote it before it was restarted, or the other program did
		return nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		// The namespace is being deleted, or a quota or a policy refuses the event. To try again would not help.
		klog.FromContext(ctx).V(2).Info("The event of a held pod was refused", "pod", key, "err", err)
		return nil
	}
	return fmt.Errorf("write the event of a held pod: %w", err)
}

// eventToWrite returns the pod and its event, nil if there is nothing to be said.
func (w *Writer) eventToWrite(ctx context.Context, key types.NamespacedName) (*corev1.Pod, *eventsv1.Event, error) {
	pod, err := w.getPod(ctx, key)
	if err != nil {
		return nil, nil, fmt.Errorf("get pod to write its event: %w", err)
	}
	if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || !w.options.Explains(pod) {
		return nil, nil, nil
	}
	reason, note := v1alpha1.ReasonWaitingForPodSequence, w.options.Unknown(pod)
	if decision := w.decider.Decide(pod); decision.Held {
		if decision.Groups > 0 {
			reason = v1alpha1.EventWaitingForGroup
		}
		if note == "" {
			note = decision.Message()
		}
	}
	if note == "" {
		return nil, nil, nil // it was released
	}
	return pod, w.eventOf(pod, reason, note), nil
}

// eventOf returns the event. Its name follows from the pod's UID, so that a pod has one.
func (w *Writer) eventOf(pod *corev1.Pod, reason, note string) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: pod.Namespace, Name: "podsequence-" + string(pod.UID)},
		EventTime:           metav1.NewMicroTime(w.options.Clock.Now()),
		ReportingController: w.options.Reporter,
		ReportingInstance:   w.options.Reporter,
		Action:              actionHolding,
		Reason:              reason,
		Type:                corev1.EventTypeNormal,
		Note:                printable.Note(note),
		Regarding: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		},
	}
}

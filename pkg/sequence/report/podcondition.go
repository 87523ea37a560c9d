package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WaitingPatch is the strategic merge patch of the status subresource that says in the pod's PodScheduled condition
// what it waits for, or nil if the condition says so already or the pod is bound. It carries UID and resource version,
// so that one that comes late is refused instead of resetting the condition of a pod bound meanwhile.
func WaitingPatch(p *corev1.Pod, message string, now time.Time) []byte {
	if p.Spec.NodeName != "" || p.DeletionTimestamp != nil {
		return nil
	}
	condition := map[string]any{
		"type":    corev1.PodScheduled,
		"status":  corev1.ConditionFalse,
		"reason":  corev1.PodReasonSchedulingGated,
		"message": message,
	}
	before := scheduled(p)
	switch {
	case before == nil || before.Status != corev1.ConditionFalse:
		condition["lastTransitionTime"] = metav1.NewTime(now)
	case before.Reason == corev1.PodReasonSchedulingGated && before.Message == message:
		return nil
	}
	return MustMarshal(map[string]any{
		"metadata": map[string]any{"uid": p.UID, "resourceVersion": p.ResourceVersion},
		"status":   map[string]any{"conditions": []any{condition}},
	})
}

// scheduled returns the condition PodScheduled; nil if the pod has none.
func scheduled(p *corev1.Pod) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodScheduled {
			return c
		}
	}
	return nil
}

// stillGated is what the API server says of a pod that is created with gates.
const stillGated = "Scheduling is blocked due to non-empty scheduling gates"

// TellsWait reports whether the pod's condition says, in the words of WaitingPatch, that it waits for a group.
func TellsWait(p *corev1.Pod) bool {
	c := scheduled(p)
	if c == nil || c.Status != corev1.ConditionFalse {
		return false
	}
	return c.Reason == corev1.PodReasonSchedulingGated && strings.HasPrefix(c.Message, waitingPrefix)
}

// StillGatedPatch takes back what WaitingPatch said of a pod that waits for no group any more, but for gates of others.
// It is nil if there is nothing to take back, and for a pod without gates: that one its scheduler speaks of.
func StillGatedPatch(p *corev1.Pod, now time.Time) []byte {
	if len(p.Spec.SchedulingGates) == 0 || !TellsWait(p) {
		return nil
	}
	return WaitingPatch(p, stillGated, now)
}

// MustMarshal encodes what is made of maps, texts, numbers and booleans.
func MustMarshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("marshalling maps of strings cannot fail: %v", err))
	}
	return text
}

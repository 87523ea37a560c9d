package explain

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// pod explains a pod that is to reach a status. What is below it is worked out only if it is asked for.
func (e *Explainer) pod(pod *corev1.Pod, required v1alpha1.RequiredStatus) (Reason, func() []Reason) {
	r := Reason{Subject: e.name("pod", pod)}
	nothing := func() []Reason { return nil }
	switch {
	case pod.DeletionTimestamp != nil:
		r.State, r.Message = Waiting, fmt.Sprintf("has been terminating for %s", e.ago(pod.DeletionTimestamp.Time))
		if len(pod.Finalizers) > 0 {
			r.Message += "; it waits for the finalizers " + strings.Join(pod.Finalizers, ", ")
		}
	case pod.Status.Phase == corev1.PodSucceeded:
		r.State, r.Message = Done, "has succeeded"
	case pod.Status.Phase == corev1.PodFailed:
		r.State, r.Message = Stuck, "failed"+e.failure(pod)+"; no controller replaces it: delete it and create it again"
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
			r.State, r.Message = Waiting, fmt.Sprintf("failed%s; %s %s replaces it", e.failure(pod), owner.Kind, owner.Name)
		}
	case pod.Spec.NodeName == "":
		return e.unbound(pod)
	case isReady(pod) && required == v1alpha1.RequireComplete:
		r.State, r.Message = Waiting, fmt.Sprintf("runs on node %s; its group needs it to complete", pod.Spec.NodeName)
	case isReady(pod):
		c := podCondition(pod, corev1.PodReady)
		r.State, r.Message = Done, fmt.Sprintf("has been ready on node %s for %s", pod.Spec.NodeName, e.ago(c.LastTransitionTime.Time))
	default:
		r.State, r.Message = e.notReady(pod)
	}
	return r, nothing
}

// notReady says why a pod that has a node is not ready.
func (e *Explainer) notReady(pod *corev1.Pod) (State, string) {
	on := "on node " + pod.Spec.NodeName
	statuses := append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...)
	if len(statuses) == 0 {
		message := on + ", not started yet"
		if warning := e.Warning(pod.UID, "FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "Failed"); warning != nil {
			return Stuck, fmt.Sprintf("%s: %s: %s", message, warning.Reason, oneLine(warning.Message))
		}
		return Waiting, message
	}
	for _, status := range statuses {
		if state, message := e.container(pod, status); message != "" {
			return state, fmt.Sprintf("%s, container %q %s", on, status.Name, message)
		}
	}
	for _, gate := range pod.Spec.ReadinessGates {
		if c := podCondition(pod, gate.ConditionType); c == nil || c.Status != corev1.ConditionTrue {
			return Stuck, fmt.Sprintf("%s, its containers are ready, but its readiness gate %s is not true yet", on, gate.ConditionType)
		}
	}
	if c := podCondition(pod, corev1.PodReady); c != nil && c.Message != "" {
		return Waiting, fmt.Sprintf("%s, not ready: %s", on, oneLine(c.Message))
	}
	return Waiting, on + ", not ready yet"
}

// container says why a container keeps its pod from being ready; the message is empty if it does not.
func (e *Explainer) container(pod *corev1.Pod, status corev1.ContainerStatus) (State, string) {
	state := status.State
	switch {
	case state.Waiting != nil && isInnocent(state.Waiting.Reason) && status.RestartCount == 0:
		return Waiting, "is being created" + e.mountWarning(pod)
	case state.Waiting != nil:
		return Stuck, fmt.Sprintf("waits: %s%s%s", state.Waiting.Reason, colon(state.Waiting.Message), e.restarts(status))
	case state.Terminated != nil && state.Terminated.ExitCode != 0:
		return Stuck, fmt.Sprintf("ended with exit code %d (%s)%s%s", state.Terminated.ExitCode, state.Terminated.Reason, colon(state.Terminated.Message), e.restarts(status))
	case state.Running != nil && !status.Ready:
		message := fmt.Sprintf("has run for %s and is not ready", e.ago(state.Running.StartedAt.Time))
		if warning := e.Warning(pod.UID, "Unhealthy"); warning != nil {
			return Stuck, message + ": " + oneLine(warning.Message) + e.restarts(status)
		}
		return Waiting, message + e.restarts(status)
	}
	return "", ""
}

// mountWarning says what may keep a container from being created.
func (e *Explainer) mountWarning(pod *corev1.Pod) string {
	if warning := e.Warning(pod.UID, "FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox"); warning != nil {
		return fmt.Sprintf(": %s: %s", warning.Reason, oneLine(warning.Message))
	}
	return ""
}

// isInnocent reports whether a container waits for such a reason without anything being wrong.
func isInnocent(reason string) bool {
	return reason == "" || reason == "ContainerCreating" || reason == "PodInitializing"
}

func (e *Explainer) restarts(status corev1.ContainerStatus) string {
	if status.RestartCount == 0 {
		return ""
	}
	text := fmt.Sprintf("; %d restarts", status.RestartCount)
	if status.RestartCount == 1 {
		text = "; 1 restart"
	}
	if last := status.LastTerminationState.Terminated; last != nil {
		text += fmt.Sprintf(", the last after exit code %d (%s) %s ago", last.ExitCode, last.Reason, e.ago(last.FinishedAt.Time))
	}
	return text
}

func (e *Explainer) failure(pod *corev1.Pod) string {
	if pod.Status.Reason != "" {
		return fmt.Sprintf(" (%s)%s", pod.Status.Reason, colon(pod.Status.Message))
	}
	for _, status := range pod.Status.ContainerStatuses {
		if t := status.State.Terminated; t != nil && t.ExitCode != 0 {
			return fmt.Sprintf(": container %q ended with exit code %d (%s)", status.Name, t.ExitCode, t.Reason)
		}
	}
	return ""
}

func colon(message string) string {
	if message = oneLine(message); message == "" {
		return ""
	}
	return ": " + message
}

// oneLine cuts what containers and kubelets write, which may be long.
func oneLine(message string) string {
	const most = 200
	message = strings.Join(strings.Fields(message), " ")
	if len(message) > most {
		message = strings.ToValidUTF8(message[:most], "") + "..."
	}
	return message
}

func isReady(pod *corev1.Pod) bool {
	c := podCondition(pod, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

func podCondition(pod *corev1.Pod, conditionType corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == conditionType {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func findCondition(conditions []metav1.Condition, conditionType string) *metav1.Condition {
	for i := range conditions {
		if conditions[i].Type == conditionType {
			return &conditions[i]
		}
	}
	return nil
}

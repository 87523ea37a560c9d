package explain

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/internal/podtrouble"
	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/report"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// pod explains a pod that is to reach a status. What is below it is worked out only if it is asked for.
func (e *Explainer) pod(pod *corev1.Pod, group v1alpha1.PodGroup) (Reason, func() []Reason) {
	r, below := e.podAlone(pod, group)
	if stray := e.Stray(pod); stray != "" {
		r.Message += "; " + stray
	}
	return r, below
}

// podAlone is pod without what the pod's label has to do with it.
func (e *Explainer) podAlone(pod *corev1.Pod, group v1alpha1.PodGroup) (Reason, func() []Reason) {
	r := Reason{Subject: e.name("pod", pod)}
	nothing := func() []Reason { return nil }
	switch {
	case pod.DeletionTimestamp != nil:
		r.State, r.Message = Waiting, fmt.Sprintf("has been terminating for %s", e.ago(pod.DeletionTimestamp.Time))
		if len(pod.Finalizers) > 0 {
			r.Message += "; it waits for the finalizers " + strings.Join(pod.Finalizers, ", ")
		}
	case e.hasReached(pod, &group) != "":
		r.State, r.Message = Done, e.hasReached(pod, &group)
	case inventory.HasSucceeded(pod) && group.RequiredCondition == "":
		r.State, r.Message = Done, "has succeeded"
	case inventory.HasFailed(pod):
		r.State, r.Message = Stuck, "failed"+podtrouble.Failure(pod)+"; no controller replaces it: delete it and create it again"
		if owner := metav1.GetControllerOfNoCopy(pod); inventory.IsMirror(pod) {
			r.State, r.Message = Stuck, fmt.Sprintf("failed%s; it is a static pod, which no controller replaces: kubelet on node %s starts it again "+
				"when its file changes, or when kubelet restarts", podtrouble.Failure(pod), pod.Spec.NodeName)
		} else if owner != nil {
			r.State, r.Message = Waiting, fmt.Sprintf("failed%s; %s", podtrouble.Failure(pod), e.replacedBy(pod))
		}
	case pod.Spec.NodeName == "":
		return e.unbound(pod)
	case group.RequiredCondition != "":
		r.State, r.Message = lacksCondition(pod, group.RequiredCondition)
	case isReady(pod) && group.RequiredStatus == v1alpha1.RequireComplete:
		r.State, r.Message = Waiting, fmt.Sprintf("runs on node %s; its group needs it to complete", pod.Spec.NodeName)
	case isReady(pod) && e.onTrial(pod, &group) != "":
		r.State, r.Message = Waiting, fmt.Sprintf("on node %s, %s", pod.Spec.NodeName, e.onTrial(pod, &group))
	case isReady(pod):
		c := podCondition(pod, corev1.PodReady)
		r.State, r.Message = Done, fmt.Sprintf("has been ready on node %s for %s", pod.Spec.NodeName, e.ago(c.LastTransitionTime.Time))
	default:
		r.State, r.Message = e.notReady(pod)
		return r, func() []Reason { return e.outdated(pod) }
	}
	return r, nothing
}

// hasReached says that a pod has what its group requires, where that is not to be ready nor to complete; empty if it has not.
func (e *Explainer) hasReached(pod *corev1.Pod, group *v1alpha1.PodGroup) string {
	at, reached := snapshot.ReachedAt(pod, group)
	since := ""
	if !at.IsZero() {
		since = " for " + e.ago(at)
	}
	switch {
	case !reached:
	case group.RequiredCondition != "":
		return fmt.Sprintf("has had condition %s%s", group.RequiredCondition, since)
	case group.RequiredStatus == v1alpha1.RequireStarted && pod.Status.Phase == corev1.PodRunning:
		return fmt.Sprintf("has run on node %s%s", pod.Spec.NodeName, since)
	}
	return ""
}

// lacksCondition says what a pod says of the condition that its group requires.
func lacksCondition(pod *corev1.Pod, required string) (State, string) {
	where := "on node " + pod.Spec.NodeName
	if pod.Status.Phase == corev1.PodSucceeded {
		where = "has succeeded"
	}
	c := podCondition(pod, corev1.PodConditionType(required))
	if c == nil {
		return Waiting, fmt.Sprintf("%s, nobody has set its condition %s yet: if that does not change, does what sets it run?", where, required)
	}
	text := fmt.Sprintf("%s, its condition %s is %s", where, required, c.Status)
	if c.Reason != "" {
		text += " (" + c.Reason + ")"
	}
	return Waiting, text + podtrouble.Colon(podtrouble.OneLine(c.Message))
}

// onTrial says for how long a pod has to be Ready before it counts, if it has not been for so long; empty if it has.
func (e *Explainer) onTrial(pod *corev1.Pod, group *v1alpha1.PodGroup) string {
	since, must := podCondition(pod, corev1.PodReady).LastTransitionTime.Time, e.Config.MinReady(pod, group)
	if must == 0 || !e.Now.Before(since.Truncate(time.Second).Add(time.Second+must)) {
		return ""
	}
	why := "no readiness probe"
	if group.MinReadySeconds != nil {
		why = "minReadySeconds of its group"
	}
	return fmt.Sprintf("Ready for %s of %s, %s", e.ago(since), must, why) + e.restartsOf(pod)
}

// restartsOf says how often the containers of a pod were restarted that crashed.
func (e *Explainer) restartsOf(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		if text := e.restarts(status); text != "" {
			return text
		}
	}
	return ""
}

// notReady says why a pod that has a node is not ready, and what is wrong with the node. While a kubelet is silent, what the pod
// says of its containers is from before.
func (e *Explainer) notReady(pod *corev1.Pod) (State, string) {
	state, message := e.notReadyBySelf(pod)
	for _, node := range e.Nodes {
		if node.Name != pod.Spec.NodeName {
			continue
		}
		view := inventory.ViewNode(node)
		if trouble := report.NodeTrouble(&view); trouble != "" {
			message += "; " + trouble
			if !view.NotReady.IsZero() {
				state = Stuck
			}
		}
	}
	return state, message
}

// notReadyBySelf says why a pod is not ready as far as the pod itself says it.
func (e *Explainer) notReadyBySelf(pod *corev1.Pod) (State, string) {
	on := "on node " + pod.Spec.NodeName
	statuses := append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...)
	if len(statuses) == 0 {
		message := on + ", not started yet"
		if warning := e.Warning(pod.UID, "FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "Failed"); warning != nil {
			return Stuck, fmt.Sprintf("%s: %s: %s", message, warning.Reason, podtrouble.OneLine(warning.Message))
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
		return Waiting, fmt.Sprintf("%s, not ready: %s", on, podtrouble.OneLine(c.Message))
	}
	return Waiting, on + ", not ready yet"
}

// container says why a container keeps its pod from being ready; the message is empty if it does not.
func (e *Explainer) container(pod *corev1.Pod, status corev1.ContainerStatus) (State, string) {
	state := status.State
	switch {
	case state.Waiting != nil && podtrouble.IsInnocent(state.Waiting.Reason) && status.RestartCount == 0:
		return Waiting, "is being created" + e.mountWarning(pod)
	case state.Waiting != nil:
		return Stuck, fmt.Sprintf("waits: %s%s%s", state.Waiting.Reason, podtrouble.Colon(state.Waiting.Message), e.restarts(status))
	case state.Terminated != nil && state.Terminated.ExitCode != 0:
		return Stuck, fmt.Sprintf("%s%s%s", podtrouble.Ended(state.Terminated), podtrouble.Colon(state.Terminated.Message), e.restarts(status))
	case state.Running != nil && !status.Ready:
		message := fmt.Sprintf("has run for %s and is not ready", e.ago(state.Running.StartedAt.Time))
		if warning := e.Warning(pod.UID, "Unhealthy"); warning != nil {
			return Stuck, message + ": " + podtrouble.OneLine(warning.Message) + e.restarts(status)
		}
		return Waiting, message + e.restarts(status)
	}
	return "", ""
}

// mountWarning says what may keep a container from being created.
func (e *Explainer) mountWarning(pod *corev1.Pod) string {
	if warning := e.Warning(pod.UID, "FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox"); warning != nil {
		return fmt.Sprintf(": %s: %s", warning.Reason, podtrouble.OneLine(warning.Message))
	}
	return ""
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

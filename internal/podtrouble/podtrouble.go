// Package podtrouble says in one line what keeps a pod from doing its work, as its status has it. The status of SequentialJobs and
// kubectl podseq use the same words.
package podtrouble

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The reasons for which a container waits for its image. kubelet alternates between the first two.
const (
	errImagePull     = "ErrImagePull"
	imagePullBackOff = "ImagePullBackOff"
	crashLoopBackOff = "CrashLoopBackOff"
)

// Of says what keeps a pod from doing its work; empty if nothing is known. It leaves out what changes from one try to the next, such as
// the length of a back-off, so that it changes only with the trouble.
func Of(pod *corev1.Pod) string {
	switch {
	case pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded:
		return ""
	case pod.Status.Phase == corev1.PodFailed:
		return "failed" + Failure(pod)
	case pod.Spec.NodeName == "":
		return unscheduled(pod)
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if trouble := container(status); trouble != "" {
			return fmt.Sprintf("container %q %s", status.Name, trouble)
		}
	}
	return ""
}

// unscheduled says why a pod has no node.
func unscheduled(pod *corev1.Pod) string {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return fmt.Sprintf("is not scheduled (%s)%s", c.Reason, Colon(c.Message))
		}
	}
	return ""
}

// container says what keeps a container from its work; empty if nothing does.
func container(status corev1.ContainerStatus) string {
	switch waits, ended := status.State.Waiting, status.State.Terminated; {
	case ended != nil && ended.ExitCode != 0:
		return Ended(ended)
	case waits == nil || IsInnocent(waits.Reason):
		return ""
	case waits.Reason == crashLoopBackOff:
		text := "waits: " + crashLoopBackOff
		if last := status.LastTerminationState.Terminated; last != nil {
			text += ", it " + Ended(last)
		}
		return text
	case waits.Reason == errImagePull || waits.Reason == imagePullBackOff:
		return fmt.Sprintf("waits: %s%s", imagePullBackOff, Colon(whyNotPulled(waits.Message)))
	default:
		return fmt.Sprintf("waits: %s%s", waits.Reason, Colon(waits.Message))
	}
}

// whyNotPulled returns what the container runtime said. While kubelet waits it quotes that: Back-off pulling image "x": ErrImagePull: ...
func whyNotPulled(message string) string {
	if _, said, quoted := strings.Cut(message, ": "+errImagePull+": "); quoted && strings.HasPrefix(message, "Back-off pulling image") {
		return said
	}
	return message
}

// Ended says how a container ended that failed, such as: ended with exit code 137 (OOMKilled).
func Ended(state *corev1.ContainerStateTerminated) string {
	return fmt.Sprintf("ended with exit code %d (%s)", state.ExitCode, state.Reason)
}

// Failure says why a pod failed, to be read after the word failed: what kubelet says of the pod, or of the first container that failed. It
// is empty if unknown.
func Failure(pod *corev1.Pod) string {
	if pod.Status.Reason != "" {
		return fmt.Sprintf(" (%s)%s", pod.Status.Reason, Colon(pod.Status.Message))
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if ended := status.State.Terminated; ended != nil && ended.ExitCode != 0 {
			return fmt.Sprintf(": container %q %s", status.Name, Ended(ended))
		}
	}
	return ""
}

// IsInnocent reports whether a container waits for such a reason without anything being wrong.
func IsInnocent(reason string) bool {
	return reason == "" || reason == "ContainerCreating" || reason == "PodInitializing"
}

// Colon returns a message as what explains the words before it; nothing for an empty message.
func Colon(message string) string {
	if message = OneLine(message); message == "" {
		return ""
	}
	return ": " + message
}

// OneLine cuts what containers and kubelets write, which may be long.
func OneLine(message string) string {
	const most = 200
	message = strings.Join(strings.Fields(message), " ")
	if len(message) > most {
		message = strings.ToValidUTF8(message[:most], "") + "..."
	}
	return message
}

package main

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/controllers/podgroup"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// sizeAnnotation says how many pods a pod group has.
const sizeAnnotation = "podgroup.jhwagner.github.io/size"

// pod is one of our scheduler.
func pod(name string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: meta(name, nil), Spec: podSpec()}
	pod.Spec.SchedulerName = controlplane.PodSequenceScheduler
	return pod
}

func withGate(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.DefaultSchedulingGateName}}
	return pod
}

// ofOthers gives the pod to a scheduler that is not ours. The controller holds it by its gate.
func ofOthers(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.SchedulerName = controlplane.AnotherScheduler
	return pod
}

func joinGroup(pod *corev1.Pod, group string, size int) {
	pod.Labels = map[string]string{podgroup.DefaultNameLabel: group}
	pod.Annotations = map[string]string{sizeAnnotation: strconv.Itoa(size)}
}

func onNode(pod *corev1.Pod, node int) *corev1.Pod {
	pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: nodeName(node)}
	return pod
}

package main

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The benchmark plays the kubelets itself: then it knows to the moment when it made a pod ready.

// becomes is a label of pods that nobody but the kubelet has plans for. Its values are what they become once bound.
const (
	becomes         = "bench.podsequence.example.com/becomes"
	becomesReady    = "ready"
	becomesComplete = "complete"
)

// The names of what is seen of a pod.
func bound(pod string) string    { return "bound " + pod }
func labelled(pod string) string { return "labelled " + pod }

func runningStatus(ready bool) corev1.PodStatus {
	now := metav1.Now()
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	return corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &now,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: now}},
	}
}

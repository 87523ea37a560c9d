package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/pkg/controllers/podgroup"
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

// seePod notes what has become of a pod, and does the kubelet's part if nobody else does.
func (n *tenant) seePod(ctx context.Context, object any) {
	pod := object.(*corev1.Pod)
	if pod.Spec.NodeName == "" {
		return
	}
	n.seen.mark(bound(pod.Name))
	if pod.Labels[podgroup.DefaultReadyLabel] == "true" {
		n.seen.mark(labelled(pod.Name))
	}
	if pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil {
		return
	}
	status := corev1.PodStatus{}
	switch pod.Labels[becomes] {
	case becomesReady:
		status = runningStatus(true)
	case becomesComplete:
		status = corev1.PodStatus{Phase: corev1.PodSucceeded}
	}
	if !equality.Semantic.DeepEqual(status, corev1.PodStatus{}) {
		// If it fails the pod stays as it is, which shows in what waits for it.
		go func() { _ = n.patchStatus(ctx, neighbour, pod.Name, status) }()
	}
}

// setReady makes pods ready and returns the time at which the last of them was.
func (n *tenant) setReady(ctx context.Context, pods ...string) (time.Time, error) {
	return n.setStatus(ctx, runningStatus(true), pods)
}

// setRunning makes pods run, but not ready, and returns the time at which the last of them did.
func (n *tenant) setRunning(ctx context.Context, pods ...string) (time.Time, error) {
	return n.setStatus(ctx, runningStatus(false), pods)
}

func (n *tenant) setStatus(ctx context.Context, status corev1.PodStatus, pods []string) (time.Time, error) {
	for _, pod := range pods {
		if err := n.patchStatus(ctx, neighbour, pod, status); err != nil {
			return time.Time{}, err
		}
	}
	return time.Now(), nil
}

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

// patchStatus writes what a kubelet would.
func (t *testbed) patchStatus(ctx context.Context, namespace, pod string, status corev1.PodStatus) error {
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return fmt.Errorf("encode status of pod %s: %w", pod, err)
	}
	_, err = t.core.CoreV1().Pods(namespace).Patch(ctx, pod, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("write status of pod %s: %w", pod, err)
	}
	return nil
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// bootReportsPods is how long after the report of a boot a kubelet reports that the pods of its node are not ready any more.
const bootReportsPods = time.Second

// RebootSimulated writes what the kubelet of a simulated node reports after a boot: the boot first, and then that all containers have
// ended, and that pods which it rejected before were scheduled just now. KWOK restarts containers. It returns a conflict if somebody
// else writes the node or a pod meanwhile, and may be called again.
func RebootSimulated(ctx context.Context, api client.Client, name, bootID string) error {
	node := &corev1.Node{}
	if err := api.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return fmt.Errorf("reboot node: %w", err)
	}
	node.Status.NodeInfo.BootID = bootID
	for i := range node.Status.Conditions {
		node.Status.Conditions[i].LastHeartbeatTime = metav1.Now()
	}
	if err := api.Status().Update(ctx, node); err != nil {
		return fmt.Errorf("report boot: %w", err)
	}
	select {
	case <-time.After(bootReportsPods):
	case <-ctx.Done():
		return ctx.Err()
	}
	var pods corev1.PodList
	if err := api.List(ctx, &pods, client.MatchingFields{"spec.nodeName": name}); err != nil {
		return fmt.Errorf("list pods of node: %w", err)
	}
	var errs []error
	for i := range pods.Items {
		pod := &pods.Items[i]
		switch {
		case pod.DeletionTimestamp != nil:
			continue
		case pod.Status.Phase == corev1.PodRunning:
			endContainers(&pod.Status)
		case pod.Status.Phase == corev1.PodFailed && len(pod.Status.Conditions) == 0:
			// The kubelet rejected the pod, and lists it again.
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		default:
			continue
		}
		errs = append(errs, client.IgnoreNotFound(api.Status().Update(ctx, pod)))
	}
	return errors.Join(errs...)
}

// endContainers ends the containers of a pod as in a power failure; they wait for their restart.
func endContainers(status *corev1.PodStatus) {
	now := metav1.Now()
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if (c.Type == corev1.PodReady || c.Type == corev1.ContainersReady) && c.Status == corev1.ConditionTrue {
			c.Status, c.Reason, c.LastTransitionTime = corev1.ConditionFalse, "ContainersNotReady", now
		}
	}
	for i := range status.ContainerStatuses {
		c := &status.ContainerStatuses[i]
		if c.State.Running == nil {
			continue
		}
		const killed = 255 // what kubelet says of a container whose end it did not see
		c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: killed, Reason: "Unknown", StartedAt: c.State.Running.StartedAt, FinishedAt: now,
		}
		c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
		c.Ready, c.Started = false, new(false)
	}
}

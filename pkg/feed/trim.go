package feed

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence"
)

// trimNamespace keeps of a namespace what the engine looks at.
func trimNamespace(namespace *corev1.Namespace) *corev1.Namespace {
	trimmed := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace.Name, UID: namespace.UID, ResourceVersion: namespace.ResourceVersion, Labels: namespace.Labels,
		DeletionTimestamp: namespace.DeletionTimestamp,
	}}
	for _, annotation := range []string{v1alpha1.AllowSequencesFromAnnotation, v1alpha1.RequireSequenceAnnotation} {
		if value, given := namespace.Annotations[annotation]; given {
			metav1.SetMetaDataAnnotation(&trimmed.ObjectMeta, annotation, value)
		}
	}
	return trimmed
}

// trimSequence drops of a stored PodSequence what the engine does not look at and what may be as large as the rest of it: who
// wrote which field, and the copy that kubectl apply leaves in an annotation. When status was written is kept.
func trimSequence(stored *unstructured.Unstructured) {
	metadata, ok := stored.Object["metadata"].(map[string]any)
	if !ok {
		return
	}
	delete(metadata, "annotations")
	entries, _ := metadata["managedFields"].([]any)
	var kept []any
	for _, entry := range entries {
		if fields, ok := entry.(map[string]any); ok && fields["subresource"] == "status" {
			delete(fields, "fieldsV1")
			kept = append(kept, fields)
		}
	}
	delete(metadata, "managedFields")
	if kept != nil {
		metadata["managedFields"] = kept
	}
}

// trimContainers returns one container that requests what the whole pod does; none if it requests nothing.
func trimContainers(pod *corev1.Pod) []corev1.Container {
	requests := sequence.RequestsOf(pod)
	if len(requests) == 0 {
		return nil
	}
	return []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: requests.List()}}}
}

// trimPod keeps of a pod what the engine looks at. While a list comes in many pods are in memory at once, those that
// ended long ago among them, and the engine has not taken from them what it keeps.
func trimPod(pod *corev1.Pod) *corev1.Pod {
	trimmed := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			Labels: pod.Labels, OwnerReferences: pod.OwnerReferences, DeletionTimestamp: pod.DeletionTimestamp,
			CreationTimestamp: pod.CreationTimestamp,
		},
		Spec: corev1.PodSpec{
			NodeName: pod.Spec.NodeName, SchedulerName: pod.Spec.SchedulerName,
			SchedulingGates: pod.Spec.SchedulingGates, SchedulingGroup: pod.Spec.SchedulingGroup,
		},
		Status: corev1.PodStatus{Phase: pod.Status.Phase},
	}
	if proof, proven := pod.Annotations[v1alpha1.ReleasedAnnotation]; proven {
		trimmed.Annotations = map[string]string{v1alpha1.ReleasedAnnotation: proof}
	}
	if pod.Spec.NodeName == "" {
		trimmed.Spec.NodeSelector, trimmed.Spec.Affinity, trimmed.Spec.Tolerations =
			pod.Spec.NodeSelector, pod.Spec.Affinity, pod.Spec.Tolerations
		trimmed.Status.NominatedNodeName = pod.Status.NominatedNodeName
		trimmed.Spec.Priority, trimmed.Spec.Containers = pod.Spec.Priority, trimContainers(pod)
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.PodScheduled {
			trimmed.Status.Conditions = append(trimmed.Status.Conditions,
				corev1.PodCondition{
					Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime, LastProbeTime: c.LastProbeTime,
				})
		}
	}
	for i := range pod.Status.ContainerStatuses {
		if t := pod.Status.ContainerStatuses[i].State.Terminated; t != nil {
			trimmed.Status.ContainerStatuses = append(trimmed.Status.ContainerStatuses, corev1.ContainerStatus{
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: t.FinishedAt}},
			})
		}
	}
	return trimmed
}

package feed

import (
	"maps"
	"slices"

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

// overrides are the annotations of sequences that the engine looks at.
var overrides = []string{
	v1alpha1.SuspendAnnotation, v1alpha1.SkipAnnotation, v1alpha1.OverrideReasonAnnotation, v1alpha1.OverrideUntilAnnotation,
}

// trimSequence drops of a stored PodSequence what the engine does not look at and what may be as large as the rest of it: who
// wrote which field, and annotations such as the copy that kubectl apply leaves. When status was written is kept, and who wrote the
// annotations that override the spec.
func trimSequence(stored *unstructured.Unstructured) {
	metadata, ok := stored.Object["metadata"].(map[string]any)
	if !ok {
		return
	}
	trimAnnotations(metadata)
	entries, _ := metadata["managedFields"].([]any)
	var kept []any
	for _, entry := range entries {
		fields, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		written := overridesIn(fields["fieldsV1"])
		delete(fields, "fieldsV1")
		switch {
		case fields["subresource"] == "status":
			kept = append(kept, fields)
		case len(written) > 0:
			fields["fieldsV1"] = map[string]any{"f:metadata": map[string]any{"f:annotations": written}}
			kept = append(kept, fields)
		}
	}
	delete(metadata, "managedFields")
	if kept != nil {
		metadata["managedFields"] = kept
	}
}

func trimAnnotations(metadata map[string]any) {
	annotations, _ := metadata["annotations"].(map[string]any)
	maps.DeleteFunc(annotations, func(name string, _ any) bool { return !slices.Contains(overrides, name) })
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
}

// overridesIn returns which annotations that override the spec are among the fields that somebody wrote.
func overridesIn(fieldsV1 any) map[string]any {
	fields, _ := fieldsV1.(map[string]any)
	field, _, _ := unstructured.NestedFieldNoCopy(fields, "f:metadata", "f:annotations")
	annotations, _ := field.(map[string]any)
	written := map[string]any{}
	for _, name := range overrides {
		if _, has := annotations["f:"+name]; has {
			written["f:"+name] = map[string]any{}
		}
	}
	return written
}

// crashing stands for whatever says that a container is restarted again and again.
var crashing = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}

// probe stands for all readiness probes.
var probe = &corev1.Probe{}

// trimContainers returns one container that has a readiness probe if one of the pod's has; none otherwise.
func trimContainers(pod *corev1.Pod) []corev1.Container {
	if slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.ReadinessProbe != nil }) {
		return []corev1.Container{{ReadinessProbe: probe}}
	}
	return nil
}

// keptAnnotations are the annotations of pods that the engine looks at.
var keptAnnotations = append(sequence.HookAnnotations(), v1alpha1.ReleasedAnnotation, corev1.MirrorPodAnnotationKey)

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
			SchedulingGates: pod.Spec.SchedulingGates, SchedulingGroup: pod.Spec.SchedulingGroup, Containers: trimContainers(pod),
		},
		Status: corev1.PodStatus{Phase: pod.Status.Phase},
	}
	for _, annotation := range keptAnnotations {
		if value, given := pod.Annotations[annotation]; given {
			metav1.SetMetaDataAnnotation(&trimmed.ObjectMeta, annotation, value)
		}
	}
	if pod.Spec.NodeName == "" {
		trimmed.Spec.NodeSelector, trimmed.Spec.Affinity = pod.Spec.NodeSelector, pod.Spec.Affinity
		trimmed.Status.NominatedNodeName = pod.Status.NominatedNodeName
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.PodScheduled || c.Type == corev1.DisruptionTarget {
			trimmed.Status.Conditions = append(trimmed.Status.Conditions, corev1.PodCondition{
				Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime, LastProbeTime: c.LastProbeTime,
			})
		} else if c.Status == corev1.ConditionTrue { // some group may require it
			trimmed.Status.Conditions = append(trimmed.Status.Conditions,
				corev1.PodCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime})
		}
	}
	for i := range pod.Status.ContainerStatuses {
		status, says := corev1.ContainerStatus{}, false
		if at := sequence.StartedAt(&pod.Status.ContainerStatuses[i]); !at.IsZero() {
			status.State.Running, says = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at)}, true
		}
		if t := pod.Status.ContainerStatuses[i].State.Terminated; t != nil {
			status.State.Terminated, says = &corev1.ContainerStateTerminated{FinishedAt: t.FinishedAt}, true
		}
		if sequence.IsCrashing(pod.Status.ContainerStatuses[i]) {
			status.State.Waiting, says = crashing, true
		}
		if says {
			trimmed.Status.ContainerStatuses = append(trimmed.Status.ContainerStatuses, status)
		}
	}
	return trimmed
}

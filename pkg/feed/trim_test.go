package feed

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence"
	. "example.com/podsequence/test/harness/builders"
)

func TestOfAStoredPodSequenceIsKeptWhenStatusWasWrittenAndWhoOverridesTheSpec(t *testing.T) {
	ps := MakeSequence("shop", "shop").UID("shop").Pods("Database", "db").Obj()
	ps.Labels = map[string]string{"team": "blue"}
	want := ps.DeepCopy()
	written := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	fields := metav1.NewFieldsV1(`{"f:spec":{}}`)
	ps.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "everything once more", v1alpha1.SuspendAnnotation: "true"}
	ps.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "kubectl", FieldsV1: fields}, {Manager: "controller", Subresource: "status", Time: &written, FieldsV1: fields},
		{Manager: "somebody", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:podsequence.example.com/suspend":{},"f:other":{}}}}`)},
	}
	want.Annotations = map[string]string{v1alpha1.SuspendAnnotation: "true"}
	want.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "controller", Subresource: "status", Time: &written},
		{Manager: "somebody", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:podsequence.example.com/suspend":{}}}}`)},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(ps)
	require.NoError(t, err)
	trimSequence(&unstructured.Unstructured{Object: content})
	got := sequence.Read(content)
	got.ManagedFields[0].Time = &written // the same in another zone
	assert.Equal(t, want, got.PodSequence)
}

func TestAListedPodIsTrimmedToWhatTheEngineLooksAt(t *testing.T) {
	now := metav1.Now()
	meta := metav1.ObjectMeta{
		Namespace: "shop", Name: "db", UID: "u", ResourceVersion: "7", Labels: map[string]string{"tier": "db"},
		OwnerReferences: []metav1.OwnerReference{{Name: "owner"}}, DeletionTimestamp: &now,
	}
	pod := &corev1.Pod{
		ObjectMeta: meta,
		Spec: corev1.PodSpec{
			SchedulerName: "s", SchedulingGates: []corev1.PodSchedulingGate{{Name: "g"}},
			SchedulingGroup: &corev1.PodSchedulingGroup{PodGroupName: new("gang")},
			NodeSelector:    map[string]string{"a": "b"}, Affinity: &corev1.Affinity{},
		},
		Status: corev1.PodStatus{
			Phase:             corev1.PodSucceeded,
			NominatedNodeName: "n",
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, Reason: "r", LastTransitionTime: now, LastProbeTime: now},
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now},
				{Type: "example.com/Reachable", Status: corev1.ConditionTrue, LastTransitionTime: now},
			},
			ContainerStatuses: []corev1.ContainerStatus{{
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: now}},
			}, {
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
			}},
		},
	}
	whole := pod.DeepCopy()
	whole.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
	whole.Annotations = map[string]string{"large": "text"}
	whole.Spec.Containers, whole.Spec.Tolerations = []corev1.Container{{Name: "c"}, {Name: "d"}}, []corev1.Toleration{{Key: "k"}}
	whole.Status.Conditions = append(whole.Status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady})
	whole.Status.Conditions[2].Message = "long text"
	whole.Status.ContainerStatuses[1].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "OOMKilled"}
	whole.Status.ContainerStatuses[0].Image = "image"
	assert.Equal(t, pod, trimPod(whole))

	whole.Spec.NodeName = "n"
	whole.Annotations[corev1.MirrorPodAnnotationKey] = "hash"
	bound := trimPod(whole)
	assert.Equal(t, map[string]string{corev1.MirrorPodAnnotationKey: "hash"}, bound.Annotations)
	assert.Equal(t, "n", bound.Spec.NodeName)
	assert.Nil(t, bound.Spec.Affinity, "its place is no question any more")
	assert.Empty(t, bound.Status.NominatedNodeName)
	assert.Nil(t, bound.Spec.Containers)

	whole.Spec.Containers[1].ReadinessProbe = &corev1.Probe{PeriodSeconds: 7}
	bound = trimPod(whole)
	assert.Equal(t, []corev1.Container{{ReadinessProbe: &corev1.Probe{}}}, bound.Spec.Containers)

	var store cache.ReflectorStore = (&Feed{}).pods()
	trimmed, err := store.(cache.TransformingStore).Transformer()(whole)
	require.NoError(t, err)
	assert.Equal(t, bound, trimmed)
}

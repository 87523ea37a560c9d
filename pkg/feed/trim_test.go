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

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
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
	got := order.Read(content)
	got.ManagedFields[0].Time = &written // the same in another zone
	assert.Equal(t, want, got.PodSequence)
}

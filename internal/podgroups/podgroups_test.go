package podgroups

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
)

func TestOf(t *testing.T) {
	key := types.NamespacedName{Namespace: "train", Name: "gang"}
	labels := map[string]string{"scheduling.x-k8s.io/pod-group": "gang"}
	native := &corev1.PodSchedulingGroup{PodGroupName: new("gang")}
	for name, tc := range map[string]struct {
		labels map[string]string
		group  *corev1.PodSchedulingGroup
		want   []Reference
	}{
		"a pod of none":                        {},
		"by label":                             {labels: labels, want: []Reference{{Coscheduling, key}}},
		"by an empty label, which names none":  {labels: map[string]string{"scheduling.x-k8s.io/pod-group": ""}},
		"by field":                             {group: native, want: []Reference{{Native, key}}},
		"by a field that is of a kind to come": {group: &corev1.PodSchedulingGroup{}},
		"by both, Coscheduling's first":        {labels: labels, group: native, want: []Reference{{Coscheduling, key}, {Native, key}}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "train", Name: "pod", Labels: tc.labels}}
			pod.Spec.SchedulingGroup = tc.group
			assert.Equal(t, tc.want, Of(pod))
		})
	}
}

func TestMinimum(t *testing.T) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&coscheduling.PodGroup{Spec: coscheduling.PodGroupSpec{MinMember: 4}})
	require.NoError(t, err)
	assert.EqualValues(t, 4, MinMember(&unstructured.Unstructured{Object: object}))
	assert.Zero(t, MinMember(&unstructured.Unstructured{Object: map[string]any{}}), "it does not say")
	for value, want := range map[any]int32{int64(-1): 0, int64(math.MaxInt64): math.MaxInt32, "four": 0, nil: 0} {
		odd := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"minMember": value}}}
		assert.Equal(t, want, MinMember(odd), "%v", value)
	}

	for want, policy := range map[int32]schedulingv1beta1.PodGroupSchedulingPolicy{
		0: {Basic: &schedulingv1beta1.BasicSchedulingPolicy{}},
		4: {Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 4}},
	} {
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&schedulingv1beta1.PodGroup{
			Spec: schedulingv1beta1.PodGroupSpec{SchedulingPolicy: policy},
		})
		require.NoError(t, err)
		assert.Equal(t, want, MinCount(&unstructured.Unstructured{Object: object}))
	}
}

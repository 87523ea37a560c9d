package deployment

import (
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1alpha1 "example.com/podsequence/apis/batch/v1alpha1"
)

// runSteps has one SequentialJob run into its deadline, the Job of another one's step be deleted by hand, and a third one
// run again after it failed. All are removed when they have ended.
func runSteps(t *testing.T, namespace string) {
	t.Helper()
	steps := func(name string) *batchv1alpha1.SequentialJob {
		return &batchv1alpha1.SequentialJob{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: batchv1alpha1.SequentialJobSpec{
				Containers:              []corev1.Container{{Name: "step", Image: "example.com/step"}},
				TTLSecondsAfterFinished: ptr.To[int32](1),
			},
		}
	}
	late := steps("late")
	late.Spec.ActiveDeadlineSeconds = ptr.To[int64](2)
	create(t, late)
	create(t, steps("broken"))
	again := steps("again")
	again.Spec.TTLSecondsAfterFinished, again.Spec.BackoffLimit = nil, ptr.To[int32](0)
	again.Spec.Template.Annotations = map[string]string{"sandbox.podsequence.example.com/fail-after": "0s"}
	create(t, again)

	job := &batchv1.Job{}
	await(t, "the step to have its Job", func() bool {
		return api.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: "broken-0"}, job) == nil && job.Status.Active > 0
	})
	require.NoError(t, api.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	awaitFailed := func(retry string) {
		await(t, "again to fail", func() bool {
			err := api.Get(t.Context(), client.ObjectKeyFromObject(again), again)
			return err == nil && again.Status.Phase == batchv1alpha1.PhaseFailed && again.Status.Retry == retry
		})
	}
	patch := func(content string) {
		require.NoError(t, api.Patch(t.Context(), again, client.RawPatch(types.MergePatchType, []byte(content))))
	}
	awaitFailed("")
	patch(`{"metadata":{"annotations":{"batch.example.com/retry":"1"}}}`)
	awaitFailed("1")
	patch(`{"spec":{"ttlSecondsAfterFinished":1}}`)
	for _, name := range []string{"late", "broken", "again"} {
		await(t, name+" to have ended and to be removed", func() bool {
			err := api.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, &batchv1alpha1.SequentialJob{})
			return apierrors.IsNotFound(err)
		})
	}
}
